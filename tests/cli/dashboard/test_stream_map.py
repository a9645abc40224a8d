"""Map of streams between publishers, drivers and subscribers."""

import itertools
from dataclasses import replace
from pathlib import Path

from observed import CHANNEL, heartbeat, record, records_of, snapshot

from aeron_core.cli.dashboard.stream_map import (
    CHANNELS,
    MAX_NODES,
    PUBLISHERS,
    RECEIVING,
    SENDING,
    SUBSCRIBERS,
    map_of,
)
from aeron_core.cli.dashboard.view import names_of
from aeron_core.cli.top.sources import DriverStatus, Moment, ObservedDriver
from aeron_core.concurrent import counter_types as types
from aeron_core.concurrent.counter_types import CounterOwner


def mapped(**records):
    """Return the map of drivers with these counters, by the names of their directories."""
    drivers = []
    for name, found in records.items():
        now = snapshot(*found, at_s=1)
        now = replace(now, driver=replace(now.driver, aeron_dir=Path("/dev/shm") / name))
        drivers.append(ObservedDriver(now.driver, DriverStatus.ALIVE, now))
    moment = Moment(0, tuple(drivers))
    return map_of(moment, names_of(moment.drivers))


def labels(document, column):
    return [node["label"] for node in document["columns"][column]["nodes"]]


def edges(document):
    return {(tuple(each["from"]), tuple(each["to"])): each["alert"] for each in document["edges"]}


def test_a_stream_between_two_drivers_passes_through_its_channel():
    document = mapped(
        a=[*records_of(pub_pos=9, pub_lmt=99, snd_pos=9, snd_lmt=99), heartbeat()],
        b=[*records_of("aeron:udp?endpoint=other:1", rcv_hwm=9, rcv_pos=9, sub_pos=9), heartbeat()],
    )

    assert [labels(document, column) for column in range(5)] == [
        ["process 4711 (app)"], ["a"], [CHANNEL.replace("aeron:udp?endpoint=", "udp ")], ["b"], ["process 4711 (app)"],
    ]  # fmt: skip
    places = [(PUBLISHERS, 0), (SENDING, 0), (CHANNELS, 0), (RECEIVING, 0), (SUBSCRIBERS, 0)]
    assert edges(document) == dict.fromkeys(itertools.pairwise(places), False)


def test_ipc_connects_a_driver_with_its_subscribers():
    document = mapped(a=[*records_of("aeron:ipc", pub_pos=9, pub_lmt=99, ipc_sub=9), heartbeat()])

    assert edges(document) == {
        ((PUBLISHERS, 0), (SENDING, 0)): False,
        ((SENDING, 0), (SUBSCRIBERS, 0)): False,
    }


def test_the_line_to_the_subscriber_that_holds_a_stream_back_is_marked():
    document = mapped(a=records_of("aeron:ipc", pub_pos=60_000, pub_lmt=60_000, ipc_sub=0))

    assert edges(document)[(SENDING, 0), (SUBSCRIBERS, 0)]
    assert document["columns"][SUBSCRIBERS]["nodes"][0]["alert"]


def test_nodes_are_bounded_and_the_others_are_counted():
    owners = [CounterOwner(n, n, n, f"aeron:udp?endpoint=h:{n + 1}", n) for n in range(MAX_NODES + 5)]
    document = mapped(
        a=[
            record(kind, "x", 9, owner)
            for owner in owners
            for kind in (types.PUBLISHER_POSITION, types.PUBLISHER_LIMIT, types.SENDER_POSITION)
        ]
    )

    assert len(labels(document, CHANNELS)) == MAX_NODES
    assert document["hidden"] == 2 * 5
    assert all(each["from"][1] < MAX_NODES > each["to"][1] for each in document["edges"])


def test_a_counter_that_was_set_back_is_no_negative_rate():
    before, now = (snapshot(*records_of(pub_pos=n, pub_lmt=9_999), at_s=s) for s, n in ((0, 5_000), (1, 10)))
    moment = Moment(0, (ObservedDriver(now.driver, DriverStatus.ALIVE, now, before),))

    document = map_of(moment, names_of(moment.drivers))

    assert {edge["rate"] for edge in document["edges"]} == {0}
