"""`aeron-core log-inspect`: shows a log buffer of a stream, frame by frame.

Not here: validation of frames. A log that is being written, or that a dead process left behind, is shown as it is;
only lengths that lead out of the term are not followed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated, Final

import typer

from aeron_core._native import positions, wire
from aeron_core.cli.options import Json, print_json
from aeron_core.cli.quantities import size_in_bytes
from aeron_core.concurrent.mapped_file import ObservedFile
from aeron_core.errors import ProtocolError
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.logbuffer.metadata import NO_END_OF_STREAM

_DUMP_COLUMNS: Final = 32  # bytes per line of a dump, equal to the alignment of frames
_LOG_TYPES: Final = {
    wire.LOG_TYPE_CONCURRENT_PUBLICATION: "concurrent publication",
    wire.LOG_TYPE_EXCLUSIVE_PUBLICATION: "exclusive publication",
    wire.LOG_TYPE_IMAGE: "image",
}
_FLAGS: Final = (
    (wire.DATA_FLAG_BEGIN, "B"),
    (wire.DATA_FLAG_END, "E"),
    (wire.DATA_FLAG_EOS, "S"),
    (wire.DATA_FLAG_REVOKED, "R"),
)


class DumpFormat(StrEnum):
    """Format of dumped payloads."""

    HEX = "hex"
    ASCII = "ascii"


@dataclass(frozen=True, slots=True)
class InspectedFrame:
    """Header and first payload bytes of one frame; its length is negative while the frame is being written."""

    term: int  # 0 to 2: the partition
    offset: int  # within the term
    length: int
    version: int
    flags: str
    type: str
    term_offset: int
    session_id: int
    stream_id: int
    term_id: int
    reserved_value: int
    payload: bytes

    @property
    def end(self) -> int:
        """Offset of the next frame in the term, in bytes."""
        return self.offset + max(positions.align_frame(abs(self.length)), wire.FRAME_ALIGNMENT)


@dataclass(frozen=True, slots=True)
class Tail:
    """End of the data that publishers have claimed in one term buffer.

    `position` is negative if the term is not in use yet.
    """

    term_id: int
    offset: int
    position: int


def log_inspect(  # noqa: PLR0913 - the options of the command
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG", help="Log buffer file, in publications/ or images/ of a driver's directory."
        ),
    ],
    dump: Annotated[
        int, typer.Option(metavar="BYTES", parser=size_in_bytes, help="Length of each payload to show.")
    ] = 0,
    dump_format: Annotated[
        DumpFormat, typer.Option("--format", metavar="FORMAT", help="Format of payloads: hex or ascii.")
    ] = DumpFormat.HEX,
    term: Annotated[
        int | None, typer.Option(metavar="INDEX", help="Show only this term buffer.", min=0, max=2)
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(metavar="COUNT", help="Maximum number of frames to show of each term buffer.", min=0),
    ] = None,
    gaps: Annotated[bool, typer.Option("--gaps", help="Also look for frames after gaps.")] = False,
    json: Json = False,
) -> None:
    """Show the metadata and the frames of a log buffer."""
    try:
        file = ObservedFile(log)
        inspected = LogBuffer(file.buffer)
    except ProtocolError as error:
        raise ProtocolError(f"{log}: {error}", error.code) from error
    terms = range(wire.PARTITION_COUNT) if term is None else [term]
    if json:
        print_json(
            {
                "path": str(log),
                **_metadata(inspected),
                "frames": _documents(file, inspected, terms, dump, limit, gaps),
            }
        )
        return
    fields = _metadata(inspected)
    width = max(map(len, fields))
    for name, value in fields.items():
        print(f"{name.replace('_', ' '):>{width}}: {value}")
    for index in terms:
        tail = _tail(inspected, index)
        print(f"======== term {index}{_heading(tail)}")
        end = 0
        for number, frame in enumerate(_checked(file, frames_of(inspected, index, dump, skip_gaps=gaps))):
            if limit is not None and number >= limit:
                print(f"... more: --limit {limit}")
                break
            print(_line(frame))
            _print_dump(frame.payload, dump_format)
            end = frame.end
        else:
            if not gaps and _is_gap(end, tail):
                print(f"{end:>10}: zeros: use --gaps to look further")


def _checked(file: ObservedFile, frames: Iterator[InspectedFrame]) -> Iterator[InspectedFrame]:
    """Yield the frames of a file; raise StorageError if another process truncates it."""
    file.check()
    for frame in frames:
        yield frame
        file.check()


def frames_of(log: LogBuffer, index: int, dump: int, *, skip_gaps: bool) -> Iterator[InspectedFrame]:
    """Yield the frames of term buffer `index`, 0 to 2, up to the first gap; with `skip_gaps`, also those after gaps.

    `dump`: maximum bytes of each payload to return.
    After a gap, bytes count as a frame only if they contain their own term offset: others may be old payload.
    """
    begin = index * log.term_length
    offset = 0
    is_behind_gap = False
    while offset < log.term_length:
        length = log.buffer.get_i32_acquire(begin + offset)
        if length == 0 or (
            is_behind_gap and log.buffer.get_i32(begin + offset + wire.DATA_TERM_OFFSET_OFFSET) != offset
        ):
            if not skip_gaps:
                return
            is_behind_gap = True
            offset += wire.FRAME_ALIGNMENT
            continue
        is_behind_gap = False
        frame = _frame(log, index, offset, length, dump)
        yield frame
        offset = frame.end


def _frame(log: LogBuffer, index: int, offset: int, length: int, dump: int) -> InspectedFrame:
    buffer, at = log.buffer, index * log.term_length + offset
    flags = buffer.get_u8(at + wire.FRAME_FLAGS_OFFSET)
    kind = buffer.get_u16(at + wire.FRAME_TYPE_OFFSET)
    # The length may be any number: do not read beyond the term.
    payload_length = max(min(abs(length), log.term_length - offset) - wire.DATA_HEADER_LENGTH, 0)
    return InspectedFrame(
        term=index,
        offset=offset,
        length=length,
        version=buffer.get_u8(at + wire.FRAME_VERSION_OFFSET),
        flags="".join(letter if flags & bit else "-" for bit, letter in _FLAGS),
        type={wire.TYPE_PAD: "PAD", wire.TYPE_DATA: "DATA"}.get(kind, f"{kind:#06x}"),
        term_offset=buffer.get_i32(at + wire.DATA_TERM_OFFSET_OFFSET),
        session_id=buffer.get_i32(at + wire.DATA_SESSION_ID_OFFSET),
        stream_id=buffer.get_i32(at + wire.DATA_STREAM_ID_OFFSET),
        term_id=buffer.get_i32(at + wire.DATA_TERM_ID_OFFSET),
        reserved_value=buffer.get_i64(at + wire.DATA_RESERVED_VALUE_OFFSET),
        payload=buffer.get_bytes(at + wire.DATA_HEADER_LENGTH, min(payload_length, dump)),
    )


def _metadata(log: LogBuffer) -> dict[str, object]:
    """Return the metadata page, without the tails of the terms, which only the text output shows (`_heading`)."""
    fields = asdict(log.metadata())
    del fields["raw_tails"]
    fields["default_header"] = fields["default_header"].hex()
    fields["log_type"] = _LOG_TYPES.get(fields["log_type"], fields["log_type"])
    if fields["end_of_stream_position"] == NO_END_OF_STREAM:
        fields["end_of_stream_position"] = None
    return fields


def _tail(log: LogBuffer, index: int) -> Tail | None:
    """Return the tail of a term, None for an image: only publishers update tails."""
    if log.metadata().log_type == wire.LOG_TYPE_IMAGE:
        return None
    raw_tail = log.raw_tail_acquire(index)
    term_id = positions.raw_tail_term_id(raw_tail)
    offset = positions.raw_tail_term_offset(raw_tail, log.term_length)
    position = positions.compute_position(term_id, offset, log.position_bits_to_shift, log.initial_term_id)
    return Tail(term_id, offset, position)


def _heading(tail: Tail | None) -> str:
    if tail is None:
        return ""
    if tail.position < 0:
        return ": not in use yet"
    return f": id {tail.term_id}, tail {tail.offset}, position {tail.position}"


def _is_gap(end: int, tail: Tail | None) -> bool:
    """Return whether there may be frames after `end`, the end of the contiguous frames.

    The end of an image is not stored: only a gap at the beginning of the term is certain.
    """
    if tail is None:
        return end == 0
    return tail.position >= 0 and end < tail.offset


def _documents(  # noqa: PLR0913 - what the options select
    file: ObservedFile, log: LogBuffer, terms: Iterable[int], dump: int, limit: int | None, gaps: bool
) -> list[dict[str, object]]:
    return [
        {**asdict(frame), "payload": frame.payload.hex()}
        for index in terms
        for frame in islice(_checked(file, frames_of(log, index, dump, skip_gaps=gaps)), limit)
    ]


def _line(frame: InspectedFrame) -> str:
    return (
        f"{frame.offset:>10}: {frame.type} length={frame.length} version={frame.version} flags={frame.flags} "
        f"term offset={frame.term_offset} session={frame.session_id} stream={frame.stream_id} "
        f"term id={frame.term_id} reserved={frame.reserved_value}"
    )


def _print_dump(payload: bytes, dump_format: DumpFormat) -> None:
    for begin in range(0, len(payload), _DUMP_COLUMNS):
        piece = payload[begin : begin + _DUMP_COLUMNS]
        if dump_format is DumpFormat.HEX:
            print(f"{'':>12}{piece.hex(' ')}")
        else:
            print(f"{'':>12}{''.join(chr(byte) if 32 <= byte < 127 else '.' for byte in piece)}")
