"""Cost of the Lumberjack codec in memory: windows parsed and built by ours, and by zlib, struct and json of Python.

Events per second of CPU time, the best of several rounds: python benchmarks/lumberjack_codec.py
"""

from __future__ import annotations

import json
import random
import struct
import time
import zlib
from collections.abc import Callable
from functools import partial

from aeron_media._native.byte_queue import MemoryBudget
from aeron_media.lumberjack._native.inflater import LIBRARY
from aeron_media.lumberjack.codec.encoder_params import EncoderParams
from aeron_media.lumberjack.codec.event_sink import CountingSink
from aeron_media.lumberjack.codec.frame_limits import FrameLimits
from aeron_media.lumberjack.codec.frame_parser import FrameParser
from aeron_media.lumberjack.codec.window_encoder import WindowEncoder

from aeron_core._native.buffer import AtomicBuffer

WINDOWS = (50, 512, 2048)
ROUNDS = 3
EVENTS = 100_000
BUDGET = 1 << 28


def event(chance: random.Random, number: int) -> dict[str, object]:
    """Return an event of a web server, about 185 bytes of JSON."""
    time_of_day = f"{chance.randrange(24):02}:{chance.randrange(60):02}:{chance.randrange(60):02}"
    path = f"/api/v1/items/{chance.randrange(100_000)}"
    return {
        "@timestamp": f"2026-01-01T{time_of_day}.{chance.randrange(1000):03}Z",
        "host": {"name": f"web-{chance.randrange(12):02}.example.net"},
        "log": {"level": chance.choice(["info"] * 9 + ["warning"]), "offset": chance.randrange(1 << 24)},
        "message": f"GET {path} HTTP/1.1 200 {chance.randrange(20_000)} {chance.randrange(300)}ms",
        "n": number,
    }


def frames_of(payloads: list[bytes]) -> bytes:
    return b"".join(
        b"2J" + struct.pack(">II", number, len(payload)) + payload
        for number, payload in enumerate(payloads, 1)
    )


def window_of(payloads: list[bytes], level: int | None) -> bytes:
    """Return W and plain J frames, or one C frame of `level`, built as by a writer in Python."""
    head = b"2W" + struct.pack(">I", len(payloads))
    frames = frames_of(payloads)
    if level is None:
        return head + frames
    packed = zlib.compress(frames, level)
    return head + b"2C" + struct.pack(">I", len(packed)) + packed


def dump_window(records: list[dict[str, object]], level: int | None) -> bytes:
    return window_of([json.dumps(record).encode() for record in records], level)


def read_window(data: bytes, *, decodes: bool) -> int:
    """Parse a window as a reader in Python does; return its events."""
    at = events = 0
    while at < len(data):
        kind = data[at + 1]
        (number,) = struct.unpack_from(">I", data, at + 2)
        at += 6
        if kind == ord("C"):
            events += read_window(zlib.decompress(data[at : at + number]), decodes=decodes)
            at += number
        elif kind == ord("J"):
            (length,) = struct.unpack_from(">I", data, at)
            payload = data[at + 4 : at + 4 + length]
            if decodes:
                json.loads(payload)
            events += 1
            at += 4 + length
    return events


def best_rate(events: int, once: Callable[[], object]) -> float:
    """Return millions of events per second of CPU time."""
    repeats = max(1, EVENTS // events)
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(repeats):
            once()
        best = min(best, time.process_time() - start)
    return events * repeats / best / 1e6


def parse_rate(count: int, data: bytes) -> float:
    sink = CountingSink()
    parser = FrameParser(FrameLimits(), sink, MemoryBudget(BUDGET))
    buffer = AtomicBuffer(data)
    rate = best_rate(count, lambda: parser.parse(buffer, 0, len(data)))
    if parser.fault or sink.events % count:
        raise RuntimeError(
            f"parsed {sink.events} events, must be a multiple of {count}; fault {parser.fault}, see faults.pxd"
        )
    return rate


def encode_rate(payloads: list[bytes], level: int) -> tuple[float, float]:
    """Return the rate and the compression ratio."""
    encoder = WindowEncoder(EncoderParams(compression=level), MemoryBudget(BUDGET))
    buffers = [(AtomicBuffer(payload), len(payload)) for payload in payloads]
    lengths = []

    def once() -> None:
        for buffer, length in buffers:
            encoder.add(buffer, 0, length)
        lengths.append(encoder.finish())
        encoder.consume(lengths[-1])

    return best_rate(len(payloads), once), sum(map(len, payloads)) / lengths[-1]


def compare_readers(payloads: list[bytes]) -> None:
    count = len(payloads)
    for name, level in (("plain", None), ("level 0", 0), ("level 3", 3)):
        data = window_of(payloads, level)
        ours = parse_rate(count, data)
        python = best_rate(count, partial(read_window, data, decodes=False))
        decoding = best_rate(count, partial(read_window, data, decodes=True))
        print(f"read  {count:4}, {name:8}    {ours:8.2f}{python:9.2f}{decoding:11.2f}{ours / python:7.1f}x")


def compare_writers(records: list[dict[str, object]], payloads: list[bytes]) -> None:
    count = len(payloads)
    for name, level in (("plain", 0), ("level 1", 1), ("level 3", 3), ("level 6", 6)):
        packing = level or None
        ours, shorter = encode_rate(payloads, level)
        python = best_rate(count, partial(window_of, payloads, packing))
        dumping = best_rate(count, partial(dump_window, records, packing))
        theirs = sum(map(len, payloads)) / len(window_of(payloads, packing))
        print(
            f"write {count:4}, {name:8}    {ours:8.2f}{python:9.2f}{dumping:11.2f}{ours / python:7.1f}x"
            f"   to 1/{shorter:.2f}, Python to 1/{theirs:.2f}"
        )


def main() -> None:
    chance = random.Random(1)
    print(
        f"built with {LIBRARY}; millions of events per second of CPU time; ours adds each event by a call from Python"
    )
    print(f"{'':23}{'ours':>8}{'Python':>9}{'with json':>11}{'ratio':>8}")
    for count in WINDOWS:
        records = [event(chance, number) for number in range(count)]
        payloads = [json.dumps(record, separators=(",", ":")).encode() for record in records]
        compare_readers(payloads)
        compare_writers(records, payloads)


if __name__ == "__main__":
    main()
