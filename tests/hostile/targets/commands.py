"""Commands of clients: decoded as they are encoded, or refused. An input is a type, two bytes, and a message."""

from __future__ import annotations

from aeron_core.protocol.commands import COMMANDS, decode_command
from targets._messages import check_message, messages


def seeds() -> list[bytes]:
    return [type_id.to_bytes(2, "little") + message for type_id, message in messages("commands")]


def check(data: bytes) -> bool:
    return check_message(data, COMMANDS, decode_command)
