"""A minimal codec of Lumberjack frames, with which the compiled codec is compared."""

from __future__ import annotations

import json
import struct
import zlib

Pair = tuple[bytes, bytes]
Call = tuple[str, int, int] | tuple[str, int, int, bytes]


def window(count: int, version: bytes = b"2") -> bytes:
    return version + b"W" + struct.pack(">I", count)


def json_event(sequence: int, payload: bytes, version: bytes = b"2") -> bytes:
    return version + b"J" + struct.pack(">II", sequence, len(payload)) + payload


def data_event(sequence: int, pairs: list[Pair], version: bytes = b"1") -> bytes:
    strings = b"".join(struct.pack(">I", len(string)) + string for pair in pairs for string in pair)
    return version + b"D" + struct.pack(">II", sequence, len(pairs)) + strings


def envelope(payload: bytes, version: bytes = b"2") -> bytes:
    return version + b"C" + struct.pack(">I", len(payload)) + payload


def compressed(frames: bytes, version: bytes = b"2", level: int = 3) -> bytes:
    return envelope(zlib.compress(frames, level), version)


def ack(sequence: int, version: bytes = b"2") -> bytes:
    return version + b"A" + struct.pack(">I", sequence)


def json_object(pairs: list[Pair]) -> bytes:
    def text(string: bytes) -> str:
        return json.dumps(string.decode("utf-8", "replace"), ensure_ascii=False)

    return ("{" + ",".join(f"{text(key)}:{text(value)}" for key, value in pairs) + "}").encode()


def read(data: bytes) -> list[Call]:
    """Return the expected calls of a sink, in order."""
    calls: list[Call] = []
    at = 0
    while at < len(data):
        version, kind, number = struct.unpack_from(">BcI", data, at)
        at += 6
        if kind == b"W":
            calls.append(("window", version, number))
        elif kind == b"C":
            calls += read(zlib.decompressobj().decompress(data[at : at + number]))
            at += number
        elif kind == b"J":
            (length,) = struct.unpack_from(">I", data, at)
            calls.append(("event", version, number, data[at + 4 : at + 4 + length]))
            at += 4 + length
        elif kind == b"D":
            (count,) = struct.unpack_from(">I", data, at)
            at += 4
            strings = []
            for _ in range(2 * count):
                (length,) = struct.unpack_from(">I", data, at)
                strings.append(data[at + 4 : at + 4 + length])
                at += 4 + length
            calls.append(
                ("event", version, number, json_object(list(zip(strings[::2], strings[1::2], strict=True))))
            )
        else:
            raise ValueError(f"frame type {kind!r} at {at - 5}")
    return calls
