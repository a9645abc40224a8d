"""Captures of the traffic between real drivers, and the decisions that they made.

`Decisions` reduces the frames of a party to its decisions: the number of repetitions depends on the speed of the
machine.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.protocol.frames import DataHeader, ErrorFrame, Nak, ResponseSetup, Rttm, Setup, StatusMessage
from aeron_core.testing.frames import encode_frame
from aeron_core.testing.pair import US

VECTORS = Path(__file__).parents[1] / "vectors"
FRAMES: dict[int, type] = {
    wire.TYPE_DATA: DataHeader,
    wire.TYPE_PAD: DataHeader,
    wire.TYPE_NAK: Nak,
    wire.TYPE_SM: StatusMessage,
    wire.TYPE_ERR: ErrorFrame,
    wire.TYPE_SETUP: Setup,
    wire.TYPE_RTTM: Rttm,
    wire.TYPE_RSP_SETUP: ResponseSetup,
}
SETUP_FLAG = wire.SM_FLAG_SEND_SETUP


@dataclass(frozen=True)
class Frame:
    """One frame with its payload."""

    header: Any
    payload: bytes = b""

    @property
    def is_data(self) -> bool:
        """Whether it occupies bytes of the stream; a heartbeat does not."""
        return isinstance(self.header, DataHeader) and self.header.frame_length > 0

    @property
    def is_heartbeat(self) -> bool:
        return isinstance(self.header, DataHeader) and self.header.frame_length == 0

    @property
    def aligned_length(self) -> int:
        """The range of the stream that it occupies."""
        return (self.header.frame_length + 31) // 32 * 32

    def fields(self, *names: str) -> tuple[Any, ...]:
        return tuple(getattr(self.header, name) for name in names)


def frames_in(data: bytes) -> Iterator[Frame]:
    """Yield the frames of a datagram; of a PAD only the header is sent."""
    buffer, offset = AtomicBuffer(data), 0
    while offset < len(data):
        header: Any = FRAMES[buffer.get_u16(offset + wire.FRAME_TYPE_OFFSET)]()
        header.decode(buffer, offset, len(data) - offset)
        if not isinstance(header, DataHeader):
            yield Frame(header)
            return
        length = header.frame_length if header.frame_type == wire.TYPE_DATA else 0
        yield Frame(header, data[offset + wire.DATA_HEADER_LENGTH : offset + length])
        offset += max((length + 31) // 32 * 32, wire.DATA_HEADER_LENGTH)


def data_of(like: Any, term_offset: int, frame_length: int) -> bytes:
    """Return a frame of zeros at another position of the stream."""
    fields = {name: getattr(like, name) for name in like.names()}
    fields |= {"term_offset": term_offset, "frame_length": frame_length}
    return encode_frame(DataHeader(**fields)).ljust((frame_length + 31) // 32 * 32, b"\0")


class Datagram(NamedTuple):
    """One datagram of a capture, or one that our driver sent."""

    time_ns: int
    sender: str
    to: tuple[str, ...]
    source: tuple[str, int]
    destination: tuple[str, int]
    data: bytes

    @property
    def frames(self) -> list[Frame]:
        return list(frames_in(self.data))


class Capture:
    """The datagrams of one scenario.

    Long streams are shortened in the file; `fills_holes` replaces missing frames by zeros.
    """

    def __init__(self, name: str, *, fills_holes: bool = False) -> None:
        self.facts: dict[str, Any] = json.loads((VECTORS / f"{name}.json").read_text())
        self.datagrams = [
            Datagram(
                one["t_us"] * US,
                one["src"],
                tuple(one["to"]),
                (one["src_addr"], one["src_port"]),
                (one["dst"], one["dst_port"]),
                bytes.fromhex(one["hex"]),
            )
            for one in self.facts["datagrams"]
        ]
        if fills_holes:
            self.datagrams = sorted(
                [*self.datagrams, *self._fillings()], key=lambda datagram: datagram.time_ns
            )

    def _fillings(self) -> Iterator[Datagram]:
        """Yield frames of the same length, source and destination as the frame before a hole."""
        for datagram in self.datagrams:
            frame = datagram.frames[-1]
            if not frame.is_data:
                continue
            header = frame.header
            for term_id, begin, end in self.holes(header.session_id):
                if (header.term_id, header.term_offset + frame.aligned_length) == (term_id, begin):
                    for at in range(begin, end, frame.aligned_length):
                        length = min(end - at, header.frame_length)
                        yield datagram._replace(data=data_of(header, at, length))

    def sent_by(self, sender: str) -> list[Datagram]:
        return [datagram for datagram in self.datagrams if datagram.sender == sender]

    def holes(self, session_id: int) -> list[tuple[int, int, int]]:
        """Return (term id, from, to) of the ranges that are missing from a shortened stream."""
        spans = sorted(
            {
                (*frame.fields("term_id", "term_offset"), frame.aligned_length)
                for datagram in self.datagrams
                for frame in datagram.frames
                if frame.is_data and frame.header.session_id == session_id
            }
        )
        return [
            (term, at + aligned_length, following)
            for (term, at, aligned_length), (next_term, following, _) in itertools.pairwise(spans)
            if term == next_term and at + aligned_length < following
        ]

    def setup_of(self, sender: str) -> Setup:
        """Return a sender's description of its stream."""
        return next(f.header for d in self.sent_by(sender) for f in d.frames if isinstance(f.header, Setup))


def was_lost(capture: Capture, datagram: Datagram) -> bool:
    """Return whether a receiver with deliberate loss dropped this datagram.

    It did if it requested the data later and received it again, or if a setup was repeated before it responded.
    """
    later = [one for one in capture.datagrams if one.time_ns > datagram.time_ns]
    first = datagram.frames[0].header
    if isinstance(first, Setup):
        following = next(
            (one for one in later if one.sender in datagram.to or one.data == datagram.data), None
        )
        return following is not None and following.sender == datagram.sender
    if not datagram.frames[0].is_data:
        return False
    answers = [frame.header for one in later for frame in one.frames]
    is_asked_for = any(
        isinstance(nak, Nak)
        and nak.term_id == first.term_id
        and nak.term_offset <= first.term_offset < nak.term_offset + nak.length
        for nak in answers
    )
    is_repeated = any(
        isinstance(again, DataHeader)
        and again.frame_length > 0
        and (again.term_id, again.term_offset) == (first.term_id, first.term_offset)
        for again in answers
    )
    return is_asked_for and is_repeated


def distinct(items: Iterable[Any]) -> list[Any]:
    """Return each item once, in the order of first occurrence."""
    return list(dict.fromkeys(items))


class Decisions:
    """The decisions of one party, without repetitions."""

    def __init__(self, datagrams: Iterable[Datagram]) -> None:
        self.datagrams = list(datagrams)
        self.frames = [frame for datagram in self.datagrams for frame in datagram.frames]

    def of(self, kind: type, *names: str, where: Callable[[Any], bool] = lambda _: True) -> list[Any]:
        """Return these fields of all frames of a type, each combination once."""
        return distinct(
            frame.fields(*names)
            for frame in self.frames
            if isinstance(frame.header, kind) and where(frame.header)
        )

    def count(self, kind: type) -> int:
        return sum(isinstance(frame.header, kind) for frame in self.frames)

    @property
    def windows(self) -> list[Any]:
        """The positions and windows of receivers, by session."""
        return self.of(
            StatusMessage, "session_id", "stream_id", "consumption_term_id", "consumption_term_offset",
            "receiver_window", "has_group_tag", "group_tag", where=lambda sm: not sm.flags & SETUP_FLAG,
        )  # fmt: skip

    @property
    def ended(self) -> list[Any]:
        """The sessions whose receivers reported the end of stream."""
        return self.of(StatusMessage, "session_id", where=lambda sm: sm.flags & wire.SM_FLAG_EOS)

    @property
    def elicitations(self) -> list[Any]:
        """The status messages that requested a setup."""
        return self.of(
            StatusMessage, *StatusMessage().names()[:7], "has_group_tag", "group_tag",
            where=lambda sm: sm.flags & SETUP_FLAG,
        )  # fmt: skip

    @property
    def naks(self) -> list[Any]:
        return self.of(Nak, "session_id", "stream_id", "term_id", "term_offset", "length")

    @property
    def errors(self) -> list[Any]:
        return distinct(
            (frame.fields("session_id", "stream_id", "flags", "group_tag", "error_code"), frame.header.text)
            for frame in self.frames
            if isinstance(frame.header, ErrorFrame)
        )

    @property
    def setups(self) -> list[Any]:
        return self.of(Setup, *Setup().names())

    @property
    def data(self) -> list[Any]:
        """Each range of the stream, in the order of its first transmission."""
        names = (
            "session_id",
            "term_id",
            "term_offset",
            "frame_length",
            "frame_type",
            "flags",
            "reserved_value",
        )
        return distinct((*frame.fields(*names), frame.payload) for frame in self.frames if frame.is_data)

    @property
    def repeated(self) -> list[Any]:
        """The ranges that were sent more than once."""
        places = [
            (*frame.fields("session_id", "term_id", "term_offset"), *datagram.destination)
            for datagram in self.datagrams
            for frame in datagram.frames
            if frame.is_data
        ]
        return sorted({place for place in places if places.count(place) > 1})

    @property
    def destinations(self) -> list[Any]:
        """The destinations of each range of the stream."""
        return sorted(
            {
                (*frame.fields("session_id", "term_id", "term_offset"), *datagram.destination)
                for datagram in self.datagrams
                for frame in datagram.frames
                if frame.is_data
            }
        )

    @property
    def heartbeats(self) -> list[Any]:
        beats = [frame for frame in self.frames if frame.is_heartbeat]
        return distinct(frame.fields("session_id", "term_id", "term_offset", "flags") for frame in beats)
