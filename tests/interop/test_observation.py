"""A driver of Aeron is observed as ours is: state, streams, windows, clients, and what limits a stream."""

from __future__ import annotations

import os
import time

import pytest

import aeron_core
from aeron_core.observation import DriverObserver, Party, StreamKind, find_drivers, limitations, rates_between

pytestmark = pytest.mark.interop

STREAM_ID = 1001
DEADLINE_S = 60


def awaited(observer, condition):
    deadline = time.monotonic() + DEADLINE_S
    while not condition(found := observer.snapshot()):
        assert time.monotonic() < deadline, [each.sentence for each in limitations(found)]
    return found


@pytest.mark.parametrize("kind", ["ours", "theirs"])
@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_a_subscriber_that_does_not_poll_is_named(our_driver, foreign_driver, udp_channel, kind, medium):
    directory = (our_driver if kind == "ours" else foreign_driver)()
    channel = udp_channel if medium == "udp" else "aeron:ipc"
    settings = aeron_core.ClientSettings(client_name="reader")
    with aeron_core.connect(directory, settings) as aeron:
        subscription = aeron.add_subscription(channel, STREAM_ID)
        publication = aeron.add_publication(channel, STREAM_ID)
        publication.await_connected(DEADLINE_S)
        observer = DriverObserver(directory)
        awaited(observer, lambda each: "reader" in str(each.clients))

        def is_full(each):
            # The real driver connects a publication before it raises its limit: a single offer may be refused.
            while publication.offer(bytes(1000)) != aeron_core.BACK_PRESSURED:
                pass
            return {one.party for one in limitations(each)} == {Party.SUBSCRIBER}

        first = awaited(observer, is_full)
        found = observer.snapshot()

        (state,) = find_drivers([directory], defaults=False)
        assert (state.is_alive, state.problem, state.pid) == (True, "", found.driver.pid)
        assert state.software.startswith("version=")
        limits = limitations(found, first)
        assert [each.kind for each in limits] == (
            [StreamKind.IPC] if medium == "ipc" else [StreamKind.NETWORK, StreamKind.IMAGE]
        )
        name = f"subscriber {subscription.registration_id} of process {os.getpid()} (reader)"
        for each in limits:
            assert each.sentence.startswith(f"{name} holds stream {STREAM_ID} back, ")
            assert each.sentence.endswith(", and does not poll")
        assert len(found.logs) == len(limits)
        assert set(rates_between(first, found).per_second.values()) >= {0.0}
        assert found.problems == ()

        def is_read(each):
            subscription.poll(lambda buffer, header: None, 100)
            return {one.party for one in limitations(each)} == {Party.NONE}

        awaited(observer, is_read)


def test_windows_of_both_drivers_are_the_same(our_driver, foreign_driver, udp_channels):
    found = []
    for start_driver, udp_channel in zip((our_driver, foreign_driver), udp_channels, strict=True):
        directory = start_driver()
        with aeron_core.connect(directory) as aeron:
            aeron.add_subscription(udp_channel, STREAM_ID)
            publication = aeron.add_publication(udp_channel, STREAM_ID)
            publication.await_connected(DEADLINE_S)
            logs = DriverObserver(directory).snapshot().logs
            found.append(sorted(logs.values(), key=lambda log: not log.is_connected))

    ours, theirs = found
    assert ours == theirs
