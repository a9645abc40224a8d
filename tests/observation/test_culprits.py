"""With two receivers in drivers of their own, the one that holds the sender back is named: slow or lossy."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack

import pytest

import aeron_core
from aeron_core.cli.dashboard.stream_map import RECEIVING, map_of
from aeron_core.cli.dashboard.view import names_of
from aeron_core.cli.top.sources import LiveSource
from aeron_core.cli.top.tables import holding_back, stream_rows
from aeron_core.observation import Party

STREAM_ID = 7
DEADLINE_S = 60
#: A window fits into the buffer of a socket: the slow receiver loses nothing.
SMALL = {"counters_buffer_length": "1m", "term_buffer_length": "256k", "rcv_initial_window_length": "64k"}
#: Loses two datagrams, and asks for them again at once, which the loss report needs.
LOSSY = {
    "udp_channel_incoming_interceptors": "fixed-loss",
    "fixed_loss_args": "term-id=0|term-offset=32768|length=1408",
}
#: Sends them again long after the test.
PATIENT = {"retransmit_unicast_delay_ns": "600s"}
SETTINGS = {"sender": PATIENT, "slow": {}, "lossy": LOSSY}
CHANNEL = "aeron:udp?control-mode=manual|fc=min|init-term-id=0|term-id=0|term-offset=0|term-length=256k"


@pytest.mark.system
def test_the_receiver_that_holds_a_sender_back_is_named(tmp_path):
    with ExitStack() as stack:
        clients = {}
        for name, settings in SETTINGS.items():
            options = SMALL | settings | {"aeron_dir": tmp_path / name}
            stack.enter_context(aeron_core.MediaDriver.launch(options))
            clients[name] = stack.enter_context(aeron_core.connect(tmp_path / name))
        readers = {
            name: clients[name].add_subscription("aeron:udp?endpoint=127.0.0.1:0", STREAM_ID)
            for name in ("slow", "lossy")
        }
        publication = clients["sender"].add_publication(CHANNEL, STREAM_ID)
        for reader in readers.values():
            while (channel := reader.resolved_channel()) is None:
                os.sched_yield()
            publication.add_destination(channel)
        deadline = time.monotonic() + DEADLINE_S
        while not all(reader.image_count for reader in readers.values()):
            assert time.monotonic() < deadline
            os.sched_yield()
        source = LiveSource([tmp_path / name for name in SETTINGS])

        def awaited(party, *polled):
            """Publish, let some of the readers read, and return the moment at which a party limits the publication."""
            while True:
                publication.offer(bytes(1000))
                for name in polled:
                    readers[name].poll(lambda *_: None, 1000)
                moment = source.read()
                (limit,) = (each for _, each in moment.limitations if each.kind == "network")
                # The conductor adds a loss to the report some time after the receiver has found it.
                is_reported = party is not Party.LOSS or limit.source
                if limit.party is party and limit.is_publisher_limited and is_reported:
                    return moment, limit
                assert time.monotonic() < deadline, limit.sentence
                while publication.offer(bytes(1000)) > 0:
                    pass

        _, slow = awaited(Party.SUBSCRIBER, "lossy")
        moment, lossy = awaited(Party.LOSS, "lossy", "slow")

    assert (slow.driver.aeron_dir.name, slow.subscriber.registration_id) == (
        "slow",
        readers["slow"].registration_id,
    )
    assert lossy.driver.aeron_dir.name == "lossy"
    culprit = f"driver lossy of process {os.getpid()}"
    (sentence,) = holding_back(moment)
    assert sentence.startswith(f"data lost on the way to {culprit} holds stream 7 back: ")
    assert sentence.endswith(f" from {lossy.source} wait for a retransmission")
    assert lossy.source.startswith("127.0.0.1:")
    (row,) = (each for each in stream_rows(moment) if each.cells[1].text == "network")
    assert f"loss, {culprit}" in [cell.text for cell in row.cells]
    nodes = map_of(moment, names_of(moment.drivers))["columns"][RECEIVING]["nodes"]
    assert {node["label"]: node["alert"] for node in nodes} == {"lossy": True, "slow": False}
