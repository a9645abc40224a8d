from dataclasses import asdict

import pytest

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ProtocolError
from aeron_core.protocol.responses import RESPONSES, OnPublicationError, decode_response

# Minimum lengths: responses with empty strings.
MINIMUM_LENGTHS = {
    0x0F01: 16,
    0x0F02: 36,
    0x0F03: 36,
    0x0F04: 8,
    0x0F05: 24,
    0x0F06: 36,
    0x0F07: 12,
    0x0F08: 12,
    0x0F09: 12,
    0x0F0A: 8,
    0x0F0B: 12,
    0x0F0C: 68,
    0x0F0D: 12,
}
# Fields with another name in the captures.
NAMES = {"offending_command_correlation_id": "offending_correlation_id"}


def fields_of(record):
    """Return the fields of a captured record by our names: without lengths, and hex converted to bytes."""
    fields = {}
    for name, value in record["fields"].items():
        if name.endswith("_hex"):
            fields[name.removesuffix("_hex")] = bytes.fromhex(value)
        elif not name.endswith("_length"):
            fields[NAMES.get(name, name)] = value
    if record["type"] == "ON_UNAVAILABLE_COUNTER":
        fields["registration_id"] = fields.pop("correlation_id")
    return fields


def responses_of(steps):
    for step in steps:
        for record in step["responses"]:
            yield record, bytes.fromhex(record["message_hex"])


def publication_error(address_type, address, message="gone"):
    return OnPublicationError(1, -1, 2, 3, 4, -1, address_type, 24211, address.ljust(16, b"\0"), 13, message)


def test_responses_of_a_real_driver_decode_to_their_known_fields(steps):
    for record, content in responses_of(steps):
        response = decode_response(record["type_id"], AtomicBuffer(content), 0, len(content))

        assert asdict(response) == fields_of(record)


def test_responses_of_a_real_driver_encode_to_the_bytes_they_came_from(steps):
    for record, content in responses_of(steps):
        response = decode_response(record["type_id"], AtomicBuffer(content), 0, len(content))

        assert response.encode() == content


def test_every_response_has_a_captured_example(steps):
    assert {record["type_id"] for record, _ in responses_of(steps)} == set(RESPONSES)


@pytest.mark.parametrize(("type_id", "length"), MINIMUM_LENGTHS.items())
def test_a_response_of_the_minimum_length_is_accepted(type_id, length):
    decode_response(type_id, AtomicBuffer(bytes(length)), 0, length)


@pytest.mark.parametrize(("type_id", "length"), MINIMUM_LENGTHS.items())
def test_a_shorter_response_is_rejected(type_id, length):
    for shorter in range(length):
        with pytest.raises(ProtocolError):
            decode_response(type_id, AtomicBuffer(bytes(length)), 0, shorter)


@pytest.mark.parametrize(
    ("address_type", "address", "source"),
    [
        (0, b"", None),
        (1, bytes([127, 0, 0, 1]), ("127.0.0.1", 24211)),
        (2, bytes(15) + b"\1", ("::1", 24211)),
        (3, b"", None),
    ],
)
def test_publication_errors_have_the_source_address(address_type, address, source):
    assert publication_error(address_type, address).source == source


@pytest.mark.parametrize(("message", "length"), [("", 72), ("no", 72), ("gone", 72), ("gone!", 73)])
def test_publication_errors_have_the_length_that_c_clients_demand(message, length):
    assert len(publication_error(0, b"", message).encode()) == length
