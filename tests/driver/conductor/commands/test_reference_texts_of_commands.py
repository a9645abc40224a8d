"""Error texts that clients of the reference driver match on: commands with unknown or conflicting ids.

Ours may add to these texts, but contain them.
"""

import pytest
from refusals import send

from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.protocol import commands
from aeron_core.testing.pair import MS

UDP = "aeron:udp?endpoint=127.0.0.1:20121"
CLIENT_ID = 1_000_000


@pytest.mark.parametrize("add", ["add_publication_async", "add_subscription_async"])
def test_a_uri_that_is_too_long_is_logged_up_to_the_maximum_length(lone, add):
    channel = f"{UDP}|alias=" + "x" * 5000
    command = commands.AddPublication(CLIENT_ID, 7, 1, channel)
    if add == "add_subscription_async":
        command = commands.AddSubscription(CLIENT_ID, 7, -1, 1, channel)

    send(lone, command)

    (record,) = lone.driver.errors()
    assert channel[:4095] in record.text
    assert f"URI length ({len(channel)}) exceeds max supported length (4095): " in record.text


def test_a_static_counter_is_refused_if_a_counter_of_a_client_has_its_ids(lone):
    counter = lone.result(lone.client.add_counter_async(1101, b"", "of a client"))

    send(lone, commands.AddStaticCounter(CLIENT_ID, 7, counter.registration_id, 1101, b"", "static"))

    (record,) = lone.driver.errors()
    assert record.text.startswith("(-11) generic error, see message")
    assert (
        f"cannot add static counter, because a non-static counter exists (counterId={counter.id}) for "
        f"typeId=1101 and registrationId={counter.registration_id}"
    ) in record.text


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (
            commands.RemovePublication(CLIENT_ID, 7, 99),
            f"unknown publication client_id={CLIENT_ID} registration_id=99",
        ),
        (
            commands.RemoveSubscription(CLIENT_ID, 7, 99),
            f"unknown subscription client_id={CLIENT_ID} registration_id=99",
        ),
        (
            commands.RemoveCounter(CLIENT_ID, 7, 99),
            f"unknown counter client_id={CLIENT_ID} registration_id=99",
        ),
        (commands.RejectImage(CLIENT_ID, 7, 99, 0, ""), "Unable to resolve image for correlationId=99"),
        (
            commands.RejectImage(CLIENT_ID, 7, 99, 0, "x" * 1024),
            "Invalidation reason_text must be 1023 bytes or less",
        ),
        (commands.AddDestination(CLIENT_ID, 7, 99, UDP), "unknown publication registration_id=99"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_unknown_resource_is_named_by_its_ids(lone, command, text):
    send(lone, command)

    (record,) = lone.driver.errors()
    assert text in record.text


def test_a_command_that_is_too_short_is_logged_with_its_type_and_length(lone):
    ring = ManyToOneRingBuffer(lone.driver.cnc.to_driver)
    command = commands.AddPublication

    assert ring.write(command.TYPE_ID, bytes(23))
    assert ring.write(0x77, bytes(24))
    lone.run_for(10 * MS)

    short, unknown = lone.driver.errors()
    assert f"command={command.TYPE_ID} too short: length=23" in short.text
    assert "command=119 unknown" in unknown.text


def test_manual_destinations_are_refused_with_the_id_of_the_publication(lone):
    publication = lone.add_publication(UDP, 1)
    command = commands.AddDestination(CLIENT_ID, 7, publication.registration_id, UDP)

    send(lone, command)

    (record,) = lone.driver.errors()
    assert (
        f"channel does not allow manual control of destinations: "
        f"publication_registration_id={publication.registration_id}" in record.text
    )
