from dataclasses import asdict

import pytest

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ProtocolError
from aeron_core.protocol.commands import COMMANDS, RejectImage, RemovePublication, decode_command

# Minimum lengths that a driver accepts: commands with empty strings.
MINIMUM_LENGTHS = {
    0x01: 24,
    0x02: 24,
    0x03: 24,
    0x04: 32,
    0x05: 24,
    0x06: 16,
    0x07: 28,
    0x08: 28,
    0x09: 28,
    0x0A: 24,
    0x0B: 16,
    0x0C: 28,
    0x0D: 28,
    0x0E: 20,
    0x0F: 36,
    0x10: 36,
    0x11: 32,
    0x12: 20,
}


def fields_of(record):
    """Return the fields of a captured record by our names: without lengths, and hex converted to bytes."""
    fields = {}
    for name, value in record["fields"].items():
        if name.endswith("_hex"):
            fields[name.removesuffix("_hex")] = bytes.fromhex(value)
        elif not name.endswith("_length"):
            fields[name] = value
    fields.pop("revoke", None)
    return fields


def commands_of(steps):
    for step in steps:
        for record in step["commands"]:
            yield record, bytes.fromhex(record["message_hex"])


def test_commands_of_a_real_client_decode_to_their_known_fields(steps):
    for record, content in commands_of(steps):
        command = decode_command(record["type_id"], AtomicBuffer(content), 0, len(content))

        assert asdict(command) == fields_of(record)


def test_commands_of_a_real_client_encode_to_the_bytes_they_came_from(steps):
    for record, content in commands_of(steps):
        command = decode_command(record["type_id"], AtomicBuffer(content), 0, len(content))

        assert command.encode() == content


def test_every_command_has_a_captured_example(steps):
    assert {record["type_id"] for record, _ in commands_of(steps)} == set(COMMANDS)


@pytest.mark.parametrize(("type_id", "length"), MINIMUM_LENGTHS.items())
def test_a_command_of_the_minimum_length_is_accepted(type_id, length):
    decode_command(type_id, AtomicBuffer(bytes(length)), 0, length)


@pytest.mark.parametrize(("type_id", "length"), MINIMUM_LENGTHS.items())
def test_a_shorter_command_is_rejected(type_id, length):
    for shorter in range(length):
        with pytest.raises(ProtocolError):
            decode_command(type_id, AtomicBuffer(bytes(length)), 0, shorter)


def test_old_clients_remove_publications_without_flags():
    content = RemovePublication(1, 2, 3, None).encode()

    assert len(content) == 24
    command = RemovePublication.decode(AtomicBuffer(content), 0, 24)
    assert command.flags is None
    assert not command.revoke


@pytest.mark.parametrize(("flags", "revoke"), [(0, False), (1, True), (2, False), (-1, True)])
def test_flags_may_revoke_a_publication(flags, revoke):
    content = RemovePublication(1, 2, 3, flags).encode()

    assert len(content) == 32
    assert RemovePublication.decode(AtomicBuffer(content), 0, 32).revoke is revoke


@pytest.mark.parametrize("length", range(25, 32))
def test_truncated_flags_are_rejected(length):
    with pytest.raises(ProtocolError, match="flags at byte 24 needs 8 bytes"):
        RemovePublication.decode(AtomicBuffer(bytes(32)), 0, length)


@pytest.mark.parametrize("reason", ["", "no", "not wanted"])
def test_image_rejections_have_the_length_that_c_drivers_demand(reason):
    content = RejectImage(1, 2, 3, 4, reason).encode()

    assert len(content) >= 40
    assert len(content) == 36 + len(reason) + 5


def test_image_rejections_of_java_clients_end_with_their_reason():
    content = RejectImage(1, 2, 3, 4, "no").encode()[:38]

    assert RejectImage.decode(AtomicBuffer(content), 0, 38).reason == "no"
