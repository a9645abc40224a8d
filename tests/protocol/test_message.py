import os
from dataclasses import FrozenInstanceError, fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ErrorCode, ProtocolError
from aeron_core.protocol.commands import (
    COMMANDS,
    AddCounter,
    AddPublication,
    RemovePublication,
    TerminateDriver,
    decode_command,
)
from aeron_core.protocol.responses import RESPONSES, OnAvailableImage, OnPublicationError, decode_response

MESSAGES = [*COMMANDS.values(), *RESPONSES.values()]
# All messages are coded by one table of field types: each type is in several messages, and gets hundreds of examples.
per_message = settings(max_examples=int(os.environ.get("AERON_CORE_FUZZ_EXAMPLES", "25")))
INT16 = st.integers(-(2**15), 2**15 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
# Any bytes that a peer may send; those that are not UTF-8 become surrogates.
TEXT = st.binary(max_size=64).map(lambda content: content.decode("utf-8", "surrogateescape"))
STRATEGIES = {
    "I16": INT16,
    "U16": st.integers(0, 2**16 - 1),
    "I32": INT32,
    "I64": INT64,
    "OptionalI64": st.one_of(st.none(), INT64),
    "Bytes16": st.binary(min_size=16, max_size=16),
    "Blob": st.binary(max_size=64),
    "PaddedBlob": st.binary(max_size=64),
    "Text": TEXT,
    "PaddedText": TEXT,
}


def drawn(message, data):
    return data.draw(st.builds(message, *[STRATEGIES[field.type] for field in fields(message)]))


def decoded(message, content):
    return message.decode(AtomicBuffer(content), 0, len(content))


@pytest.mark.parametrize("message", MESSAGES)
@per_message
@given(data=st.data())
def test_messages_are_decoded_as_they_were_encoded(message, data):
    sent = drawn(message, data)

    assert decoded(message, sent.encode()) == sent


@pytest.mark.parametrize("message", MESSAGES)
@per_message
@given(data=st.data())
def test_messages_are_decoded_at_their_offset_and_not_beyond(message, data):
    sent = drawn(message, data)
    before = data.draw(st.binary(max_size=16))
    content = before + sent.encode() + b"\xff" * 8

    assert message.decode(AtomicBuffer(content), len(before), len(content) - len(before) - 8) == sent


@pytest.mark.parametrize("message", MESSAGES)
@per_message
@given(content=st.binary(max_size=128))
def test_random_bytes_give_a_message_or_a_protocol_error(message, content):
    try:
        result = decoded(message, content)
    except ProtocolError:
        return

    assert decoded(message, result.encode()) == result


@pytest.mark.parametrize("message", MESSAGES)
@per_message
@given(data=st.data())
def test_mutated_messages_give_a_message_or_a_protocol_error(message, data):
    content = bytearray(drawn(message, data).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        result = decoded(message, cut)
    except ProtocolError:
        return

    assert decoded(message, result.encode()) == result


def test_the_error_names_the_missing_field():
    content = AddPublication(1, 2, 3, "aeron:ipc").encode()

    with pytest.raises(
        ProtocolError, match="AddPublication of 32 bytes: field channel at byte 20 needs 13 bytes, 12 remain"
    ) as caught:
        decoded(AddPublication, content[:-1])
    assert caught.value.code is ErrorCode.MALFORMED_COMMAND


def test_a_negative_length_is_rejected():
    content = bytearray(TerminateDriver(1, 2, b"token").encode())
    AtomicBuffer(content).put_i32(16, -1)

    with pytest.raises(ProtocolError, match="token at byte 16 has a length of -1"):
        decoded(TerminateDriver, content)


@pytest.mark.parametrize(("key", "label_offset"), [(b"", 24), (b"k", 28), (b"keys", 28), (b"keys!", 32)])
def test_keys_of_counters_are_padded_to_four_bytes(key, label_offset):
    content = AddCounter(1, 2, 3, key, "label").encode()

    assert content[label_offset:] == b"\x05\0\0\0label"


@pytest.mark.parametrize(
    ("log_file", "identity_offset"), [("", 32), ("abc", 36), ("abcd", 36), ("abcde", 40)]
)
def test_names_of_log_files_of_images_are_padded_to_four_bytes(log_file, identity_offset):
    content = OnAvailableImage(1, 2, 3, 4, 5, log_file, "aeron:ipc").encode()

    assert content[identity_offset:] == b"\x09\0\0\0aeron:ipc"


def test_messages_are_immutable():
    with pytest.raises(FrozenInstanceError):
        RemovePublication(1, 2, 3).flags = 1


@pytest.mark.parametrize(("kind", "decode"), [("command", decode_command), ("response", decode_response)])
@pytest.mark.parametrize("type_id", [0, -1, 0x13, 0x0F0E, 2**31 - 1])
def test_an_unknown_type_is_rejected(kind, decode, type_id):
    with pytest.raises(ProtocolError, match=f"^{kind}={type_id} unknown") as caught:
        decode(type_id, AtomicBuffer(bytes(64)), 0, 64)
    assert caught.value.code is ErrorCode.UNKNOWN_COMMAND_TYPE_ID


@pytest.mark.parametrize("length", [0, 15, 17])
def test_bytes_of_another_length_than_their_field_are_not_encoded(length):
    error = OnPublicationError(1, -1, 2, 3, 4, -1, 0, 0, bytes(length), 5, "reason")

    with pytest.raises(ValueError, match=f"{length} bytes: must have exactly 16"):
        error.encode()
