"""A resilient client with the real C driver, which is killed and restarted."""

from __future__ import annotations

import pytest
from party_facts import DRIVER_TIMEOUT_MS, await_true

import aeron_core
from aeron_core import resilient

pytestmark = pytest.mark.interop


def exchange(publication, subscription, count: int) -> list[bytes]:
    """Send messages and return those that arrive."""
    received: list[bytes] = []
    for number in range(count):
        publication.send(b"%d" % number, timeout=30)
    await_true(
        lambda: (
            subscription.poll(lambda buffer, header: received.append(bytes(buffer)), 10) >= 0
            and len(received) >= count
        ),
        "the messages",
    )
    return received


@pytest.mark.compatible("a party dies", "C driver killed and restarted, our resilient client")
@pytest.mark.parametrize("kind", ["add_publication", "add_exclusive_publication"])
def test_a_resilient_client_survives_a_restart_of_the_real_driver(foreign_driver, udp_channel, kind):
    directory = foreign_driver()
    events: list[resilient.Event] = []

    def await_event(kind_of_event: type) -> None:
        await_true(
            lambda: any(isinstance(event, kind_of_event) for event in list(events)),
            f"{kind_of_event.__name__}: {events}",
        )

    settings = aeron_core.ClientSettings(driver_timeout_ms=DRIVER_TIMEOUT_MS)
    with resilient.connect(directory, settings, on_event=events.append, error_handler=print) as aeron:
        publication = getattr(aeron, kind)(udp_channel, 1)
        subscription = aeron.add_subscription(udp_channel, 1)
        counter = aeron.add_counter(1001, label="resilient")
        counter.value = 7
        assert exchange(publication, subscription, 5) == [b"%d" % number for number in range(5)]
        before = publication.position, subscription.images[0].position, publication.session_id

        foreign_driver.peers[-1].kill()
        counter.increment()
        await_event(resilient.Disconnected)
        assert publication.offer(b"x") is aeron_core.NOT_CONNECTED
        # A driver refuses to replace one that has been silent for less time.
        foreign_driver(directory, AERON_DRIVER_TIMEOUT="1000")
        await_event(resilient.Restored)
        assert exchange(publication, subscription, 3) == [b"0", b"1", b"2"]

        await_event(resilient.ImageRestored)
        of_kind = {type(event): event for event in events}
        restored = of_kind[resilient.PublicationRestored]
        assert (
            (restored.before.position, restored.before.session_id)
            == (before[0], before[2])
            == (
                5 * 64,
                before[2],
            )
        )
        assert (restored.after.position, restored.after.session_id) == (0, publication.session_id)
        [image] = of_kind[resilient.SubscriptionRestored].before
        assert (image.position, image.session_id) == (before[1], before[2])
        assert of_kind[resilient.ImageRestored].after.position == 0
        assert subscription.images[0].position == publication.position == 3 * 64
        assert counter.value == aeron.counters_reader.value(counter.id) == 8
