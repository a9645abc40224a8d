"""Messages and datagrams of real drivers, from tests/vectors, and the check of a message."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ProtocolError
from targets._texts import check_text

VECTORS = Path(__file__).parents[2] / "vectors"


@cache
def datagrams() -> list[bytes]:
    """Return some captured datagrams of each frame type and scenario, the shortest ones."""
    found: set[bytes] = set()
    for path in sorted(VECTORS.glob("*.json")):
        by_type: dict[int, list[bytes]] = {}
        for each in json.loads(path.read_text())["datagrams"]:
            datagram = bytes.fromhex(each["hex"])
            by_type.setdefault(datagram[6] if len(datagram) > 6 else -1, []).append(datagram)
        for group in by_type.values():
            found.update(sorted(group, key=len)[:1] + sorted(group, key=len)[-1:])
    return sorted((each for each in found if len(each) <= 2048), key=lambda each: (len(each), each))


@cache
def _steps() -> list[dict[str, list[dict[str, object]]]]:
    steps: list[dict[str, list[dict[str, object]]]] = json.loads(
        (VECTORS / "shm" / "01-commands.json").read_text()
    )["steps"]
    return steps


def messages(kind: str) -> list[tuple[int, bytes]]:
    """Return pairs (type, bytes) of a real client's "commands", or a real driver's "responses"."""
    found = {
        (int(str(record["type_id"])), bytes.fromhex(str(record["message_hex"])))
        for step in _steps()
        for record in step[kind]
    }
    return sorted(found)


def check_message(data: bytes, types: Mapping[int, type], decode: Callable[..., Any]) -> bool:
    """Decode a type, two bytes, and a message; assert that it is encoded to the same. Return False if it is refused."""
    type_id, content = int.from_bytes(data[:2], "little"), data[2:]
    try:
        message = decode(type_id, AtomicBuffer(content), 0, len(content))
    except ProtocolError as error:
        check_text(error)
        return False
    assert type(message) is types[type_id]
    repr(message)
    again = message.encode()
    assert decode(type_id, AtomicBuffer(again), 0, len(again)) == message
    return True
