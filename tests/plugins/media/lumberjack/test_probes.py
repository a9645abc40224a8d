"""What other readers were asked once, row by row: what each stream says to us.

A stream that some reader of today takes is taken, with the exceptions that are named here: C within C, which is what
bombs are made of, and an event without a byte.
"""

import struct
import zlib

import pytest
from aeron_media.lumberjack._native import faults
from plain_codec import ack, compressed, data_event, envelope, json_event, window

NONE = faults.NO_FAULT


def j(*sequences, version=b"2"):
    return b"".join(json_event(sequence, b"{}", version) for sequence in sequences)


def d(*sequences, version=b"1"):
    return b"".join(data_event(sequence, [(b"line", b"text")], version) for sequence in sequences)


def nested(depth):
    stream = window(1) + j(1)
    for _ in range(depth):
        stream = compressed(stream)
    return stream


#: Stream, what is handed on (W and a count, or a sequence number), and the fault.
PROBES = {
    "W2 J1 J2": (window(2) + j(1, 2), "W2 1 2", NONE),
    "W2 C(J1 J2)": (window(2) + compressed(j(1, 2)), "W2 1 2", NONE),
    "C(W2 J1 J2)": (compressed(window(2) + j(1, 2)), "W2 1 2", NONE),
    "W4 C(J1 J2) C(J3 J4)": (window(4) + compressed(j(1, 2)) + compressed(j(3, 4)), "W4 1 2 3 4", NONE),
    "W3 J1 C(J2 J3)": (window(3) + j(1) + compressed(j(2, 3)), "W3 1 2 3", NONE),
    "W2 C(C(J1 J2))": (window(2) + compressed(compressed(j(1, 2))), "W2", faults.NESTED_TOO_DEEP),
    "8-deep C": (nested(8), "", faults.NESTED_TOO_DEEP),
    "500-deep C": (nested(500), "", faults.NESTED_TOO_DEEP),
    "W0": (window(0), "W0", NONE),
    "W0 W1 J1": (window(0) + window(1) + j(1), "W0 W1 1", NONE),
    "W2 J0 J1": (window(2) + j(0, 1), "W2 0 1", NONE),
    "W2 J100 J101": (window(2) + j(100, 101), "W2 100 101", NONE),
    "W3 J0xfffffffe J0xffffffff J0": (
        window(3) + j(0xFFFFFFFE, 0xFFFFFFFF, 0), "W3 4294967294 4294967295 0", NONE,
    ),
    "W3 J3 J2 J1": (window(3) + j(3, 2, 1), "W3 3 2 1", NONE),
    "W3 J1 J3 J3": (window(3) + j(1, 3, 3), "W3 1 3 3", NONE),
    "W5 J1 J2, then silence": (window(5) + j(1, 2), "W5 1 2", NONE),
    "W5 J1 J2 W1 J1": (window(5) + j(1, 2) + window(1) + j(1), "W5 1 2 W1 1", NONE),
    "W1 J1 J2 J3": (window(1) + j(1, 2, 3), "W1 1 2 3", NONE),
    "J1 without W": (j(1), "1", NONE),
    "W1 J1 W1 J1 in one write": (window(1) + j(1) + window(1) + j(1), "W1 1 W1 1", NONE),
    "W2 J1 J2 W2 J3 J4": (window(2) + j(1, 2) + window(2) + j(3, 4), "W2 1 2 W2 3 4", NONE),
    "1W2 1D1 1D2": (window(2, b"1") + d(1, 2), "W2 1 2", NONE),
    "1W2 1C(1D1 1D2)": (window(2, b"1") + compressed(d(1, 2), b"1"), "W2 1 2", NONE),
    "1W1 1J1": (window(1, b"1") + j(1, version=b"1"), "W1 1", NONE),
    "2W1 2D1": (window(1) + d(1, version=b"2"), "W1 1", NONE),
    "2W1 1D1": (window(1) + d(1), "W1 1", NONE),
    "1W1 2J1": (window(1, b"1") + j(1), "W1 1", NONE),
    "2W1 2J1 1W1 1D1": (window(1) + j(1) + window(1, b"1") + d(1), "W1 1 W1 1", NONE),
    "1W1 1D1 2W1 2J1": (window(1, b"1") + d(1) + window(1) + j(1), "W1 1 W1 1", NONE),
    "D with 0 pairs": (window(1, b"1") + data_event(1, []), "W1 1", NONE),
    "J length 0": (window(1) + json_event(1, b""), "W1", faults.EMPTY_EVENT),
    "J invalid JSON": (window(1) + json_event(1, b"{nope"), "W1 1", NONE),
    "J = [1,2]": (window(1) + json_event(1, b"[1,2]"), "W1 1", NONE),
    "J = 7": (window(1) + json_event(1, b"7"), "W1 1", NONE),
    "J with invalid UTF-8": (window(1) + json_event(1, b'{"a":"\xff"}'), "W1 1", NONE),
    "J length 0xfffffff0": (b"2J" + struct.pack(">II", 1, 0xFFFFFFF0), "", faults.EVENT_TOO_LONG),
    "J length 0x7fffffff": (b"2J" + struct.pack(">II", 1, 0x7FFFFFFF), "", faults.EVENT_TOO_LONG),
    "C length 0xfffffff0": (b"2C" + struct.pack(">I", 0xFFFFFFF0), "", faults.COMPRESSED_TOO_LONG),
    "C length 0": (envelope(b"") + window(1) + j(1), "W1 1", NONE),
    "C of 20 zero bytes": (envelope(bytes(20)), "", faults.BROKEN_COMPRESSION),
    "C with a truncated inner frame": (compressed(window(2) + j(1, 2)[:-1]), "W2 1", faults.CUT_FRAME),
    "inner frame split over two C": (
        window(1) + compressed(j(1)[:5]) + compressed(j(1)[5:]), "W1", faults.CUT_FRAME,
    ),
    "C with 7 junk bytes after the zlib stream, then W1 J1": (
        window(1) + envelope(zlib.compress(j(1)) + b"1234567") + window(1) + j(1), "W1 1 W1 1", NONE,
    ),
    "C raw deflate": (envelope(zlib.compress(j(1))[2:-4]), "", faults.BROKEN_COMPRESSION),
    "C gzip": (envelope(zlib.compress(j(1), wbits=31)), "", faults.BROKEN_COMPRESSION),
    "W1 C(J1 J2 J3) W1 J1": (window(1) + compressed(j(1, 2, 3)) + window(1) + j(1), "W1 1 2 3 W1 1", NONE),
    "W1 C(J1 W1 J1)": (window(1) + compressed(j(1) + window(1) + j(1)), "W1 1 W1 1", NONE),
    "version '3'": (b"3W\0\0\0\1", "", faults.WRONG_VERSION),
    "type 'Z'": (b"2Z\0\0\0\1", "", faults.WRONG_TYPE),
    "HTTP GET": (b"GET / HTTP/1.1\r\n\r\n", "", faults.WRONG_VERSION),
    "client sends A": (ack(1), "", faults.WRONG_TYPE),
    "W 0xffffffff J1": (window(0xFFFFFFFF) + j(1), "W4294967295 1", NONE),
    "W 10001 J1": (window(10_001) + j(1), "W10001 1", NONE),
    "20 kB C to 20 MB event": (
        compressed(json_event(1, b"x" * 20_000_000), level=9), "", faults.EVENT_TOO_LONG,
    ),
}  # fmt: skip


@pytest.mark.parametrize("is_cut", [False, True], ids=["at once", "byte by byte"])
@pytest.mark.parametrize("probe", PROBES)
def test_each_probe_is_answered(new_reader, probe, is_cut):
    stream, said, fault = PROBES[probe]
    reader = new_reader()

    reader.feed_pieces(bytes([byte]) for byte in stream) if is_cut else reader.feed(stream)

    assert " ".join(f"W{call[2]}" if call[0] == "window" else str(call[2]) for call in reader.calls) == said
    assert reader.fault == fault


def test_what_another_reader_takes_may_be_allowed(new_reader):
    reader = new_reader(max_nesting=4)
    reader.feed(nested(4))
    assert len(reader.calls) == 2

    reader = new_reader(max_event_length=20_000_000, max_frame_length=20_000_010)
    reader.feed(compressed(json_event(1, b"x" * 20_000_000), level=9))
    assert reader.fault == faults.RATIO_TOO_HIGH

    reader = new_reader(max_event_length=20_000_000, max_frame_length=20_000_010, max_ratio=1032)
    reader.feed(compressed(json_event(1, b"x" * 20_000_000), level=9))
    assert reader.calls == [("event", 0x32, 1, b"x" * 20_000_000)]
