"""Messages of the Archive control protocol, compared with the bytes of Aeron's own encoders."""

import json
import os
import re
import struct
from dataclasses import fields
from enum import IntEnum
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeron_core.errors import ProtocolError
from aeron_core.protocol.archive.codes import ControlResponseCode, RecordingSignal, SourceLocation
from aeron_core.protocol.archive.requests import (
    REQUESTS,
    AuthConnectRequest,
    ReplayRequest,
    StartRecordingRequest,
    StopRecordingRequest,
    decode_request,
)
from aeron_core.protocol.archive.responses import (
    EVENTS,
    RESPONSES,
    ArchivePing,
    Challenge,
    ControlResponse,
    RecordingProgress,
    RecordingSignalEvent,
    decode_event,
    decode_response,
)
from aeron_core.protocol.archive.sbe import NULL_I32, NULL_I64

SAMPLES = json.loads((Path(__file__).parents[2] / "vectors" / "archive" / "messages.json").read_text())
#: Entries of the catalogue: no message has these templates.
OF_FILES = {"CatalogHeader", "RecordingDescriptorHeader"}
MESSAGES = {**REQUESTS, **RESPONSES, **EVENTS}
#: The schema version of Aeron 1.51.0; later ones have the same fields.
SAMPLED_VERSION = 13
EXAMPLES = int(os.environ.get("AERON_CORE_FUZZ_EXAMPLES", "25"))
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
TEXT = st.binary(max_size=64).map(lambda content: content.decode("ascii", "surrogateescape"))
STRATEGIES = {
    "I32": INT32,
    "I64": INT64,
    "Version": INT32,
    "Bool": st.booleans(),
    "Ascii": TEXT,
    "Blob": st.binary(max_size=64),
    "Location": st.sampled_from(SourceLocation),
    "ResponseCode": st.sampled_from(ControlResponseCode),
    "Signal": st.sampled_from(RecordingSignal),
    "_FileIoLimit": INT32,
    "_ReplayToken": INT64,
    "Annotated[int, FixedField('i', 0, since=2)]": INT32,
    "Annotated[int, FixedField('i', 0, since=4)]": INT32,
    "Annotated[int, FixedField('i', NULL_I32, since=8)]": INT32,
    "Annotated[str, VariableField(is_text=True, since=10)]": TEXT,
    "Annotated[str, VariableField(is_text=True, since=12)]": TEXT,
    "Annotated[bytes, VariableField(is_text=False, since=8)]": st.binary(max_size=64),
}
RANDOM = st.one_of(
    [
        st.builds(message, *[STRATEGIES[field.type.replace('"', "'")] for field in fields(message)])
        for message in MESSAGES.values()
    ]
)


def snake(name):
    return re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def plain(value):
    """Return a value as the samples write it."""
    if isinstance(value, IntEnum | bool):
        return int(value)
    return list(value) if isinstance(value, bytes) else value


def decode(data):
    template_id = int.from_bytes(data[2:4], "little")
    if template_id not in MESSAGES:
        raise ProtocolError("unknown")
    return MESSAGES[template_id].decode(data)


def test_every_message_of_the_schema_is_defined():
    templates = {
        int.from_bytes(bytes.fromhex(sample["hex"])[2:4], "little")
        for sample in SAMPLES
        if sample["name"] not in OF_FILES
    }

    assert templates == set(MESSAGES)


@pytest.mark.parametrize(
    "sample",
    [pytest.param(sample, id=sample["name"]) for sample in SAMPLES if sample["name"] not in OF_FILES],
)
def test_messages_are_decoded_and_encoded_as_by_aeron(sample):
    data = bytes.fromhex(sample["hex"])

    message = decode(data)

    found = {field.name: plain(getattr(message, field.name)) for field in fields(message)}
    assert found == {snake(name): value for name, value in sample["fields"].items()}
    assert message.encode(SAMPLED_VERSION) == data


@settings(max_examples=20 * EXAMPLES)
@given(message=RANDOM)
def test_messages_are_decoded_as_they_were_encoded(message):
    assert decode(message.encode()) == message
    assert decode(memoryview(message.encode() + b"\xff" * 8)) == message


@settings(max_examples=20 * EXAMPLES)
@given(message=RANDOM, data=st.data())
def test_mutated_messages_give_a_message_or_a_protocol_error(message, data):
    content = bytearray(message.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        result = decode(cut)
    except ProtocolError:
        return

    assert decode(result.encode()) == result


@settings(max_examples=4 * EXAMPLES)
@given(content=st.binary(max_size=128))
def test_random_bytes_give_a_message_nothing_or_a_protocol_error(content):
    headed = struct.pack("<HHHH", len(content) // 2, len(content) % 70, 101, 14) + content
    for data in (content, headed):
        for decoder in (decode_request, decode_response, decode_event):
            try:
                message = decoder(data)
            except ProtocolError:
                continue
            assert message is None or decode(message.encode()) == message


def test_fields_that_an_older_sender_does_not_know_are_null():
    begin, tail = struct.pack("<qqqqqi", 1, 2, 3, 4, 5, 6), b"\x09\0\0\0aeron:ipc"
    by_version_6 = struct.pack("<HHHH", 44, 6, 101, 6) + begin + tail
    by_version_7 = struct.pack("<HHHH", 48, 6, 101, 7) + begin + struct.pack("<i", 7) + tail

    assert decode_request(by_version_6) == ReplayRequest(1, 2, 3, 4, 5, 6, NULL_I32, NULL_I64, "aeron:ipc")
    assert decode_request(by_version_7) == ReplayRequest(1, 2, 3, 4, 5, 6, 7, NULL_I64, "aeron:ipc")


def test_texts_that_an_older_sender_does_not_know_are_empty():
    request = AuthConnectRequest(1, 2, 3, "aeron:ipc", b"secret", "")
    without_info = request.encode(11)[:-4]

    assert decode_request(without_info) == request


def test_fields_of_a_newer_sender_are_skipped():
    known = StopRecordingRequest(1, 2, 3, "aeron:ipc").encode()
    newer = struct.pack("<HHHH", 28, 5, 101, 99) + known[8:28] + b"newer!!!" + known[28:] + b"\x03\0\0\0new"

    assert decode_request(newer) == StopRecordingRequest(1, 2, 3, "aeron:ipc")


def test_the_first_version_of_a_response_has_no_protocol_version():
    data = struct.pack("<HHHHqqqiI", 28, 1, 101, 3, 1, 2, 3, 0, 0)

    assert decode_response(data) == ControlResponse(1, 2, 3, ControlResponseCode.OK, 0, "")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"1234567", "7 bytes: must be at least 8"),
        (struct.pack("<HHHH", 8, 3, 100, 14), "schema 100: must be 101; use the channel"),
        (struct.pack("<HHHH", 0, 20, 101, 14), "template 20 is not a request: must be one of 2, 3, 4"),
        (struct.pack("<HHHH", 8, 3, 101, 14) + bytes(7), "block at byte 8 needs 8 bytes, 7 remain"),
        (
            struct.pack("<HHHH", 12, 61, 101, 14) + bytes(20),
            "correlation_id at byte 16 needs 8 bytes, 4 remain",
        ),
        (
            struct.pack("<HHHHqqi", 20, 5, 101, 14, 1, 2, 3) + b"abc",
            "channel at byte 28 needs 4 bytes, 3 remain",
        ),
        (
            struct.pack("<HHHHqqiI", 20, 5, 101, 14, 1, 2, 3, 2**32 - 1) + b"abc",
            "channel at byte 28 needs 4294967299 bytes, 7 remain",
        ),
        (
            struct.pack("<HHHHqqiiI", 24, 4, 101, 14, 1, 2, 3, 9, 0),
            "StartRecordingRequest: source_location=9 is not a known value",
        ),
        (
            struct.pack("<HHHHqqiiiI", 28, 63, 101, 14, 1, 2, 3, 0, 2, 0),
            "StartRecordingRequest2: auto_stop=2 is not a known value",
        ),
    ],
)
def test_errors_name_the_field_its_offset_and_the_bytes_that_remain(data, reason):
    with pytest.raises(ProtocolError, match=reason):
        decode_request(data)


def test_pings_and_unknown_messages_are_no_responses():
    assert decode_response(ArchivePing(1).encode()) is None
    assert decode_response(struct.pack("<HHHH", 0, 999, 101, 14)) is None
    assert decode_event(Challenge(1, 2, 3, b"").encode()) is None
    assert decode_event(RecordingProgress(1, 2, 3).encode()) == RecordingProgress(1, 2, 3)


def test_a_message_of_another_template_is_rejected():
    with pytest.raises(ProtocolError, match="template 24: must be 1, ControlResponse"):
        ControlResponse.decode(RecordingSignalEvent(1, 2, 3, 4, 5, RecordingSignal.START).encode())


def test_text_that_is_not_ascii_is_not_encoded():
    with pytest.raises(ValueError, match="channel='aeron:ipc\\?alias=é': must contain ASCII only"):
        StartRecordingRequest(1, 2, 3, SourceLocation.LOCAL, "aeron:ipc?alias=é").encode()
