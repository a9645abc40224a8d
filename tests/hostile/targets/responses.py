"""Responses of a driver: decoded as they are encoded, or refused. An input is a type, two bytes, and a message."""

from __future__ import annotations

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ProtocolError
from aeron_core.protocol.responses import RESPONSES, decode_response
from targets._texts import check_text
from targets._vectors import messages


def seeds() -> list[bytes]:
    return [type_id.to_bytes(2, "little") + message for type_id, message in messages("responses")]


def check(data: bytes) -> bool:
    type_id, content = int.from_bytes(data[:2], "little"), data[2:]
    try:
        message = decode_response(type_id, AtomicBuffer(content), 0, len(content))
    except ProtocolError as error:
        check_text(error)
        return False
    assert type(message) is RESPONSES[type_id]
    repr(message)
    again = message.encode()
    assert decode_response(type_id, AtomicBuffer(again), 0, len(again)) == message
    return True
