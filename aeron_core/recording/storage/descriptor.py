"""Descriptor: the catalogue's entry of one recording, with its stream and its range of positions."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from aeron_core._native import wire
from aeron_core.errors import ConfigurationError, CorruptRecordingError
from aeron_core.logbuffer.limits import check_mtu_length, check_term_length
from aeron_core.uri.values import INT32_MAX, INT32_MIN, INT64_MAX

_NS_PER_MS: Final = 1_000_000
#: Default length of a segment file in bytes. Source: Archive.Configuration.SEGMENT_FILE_LENGTH_DEFAULT.
DEFAULT_SEGMENT_LENGTH: Final = 128 * 1024 * 1024
#: Limits of the length of a segment file: those of a term, because a segment has at least one.
MIN_SEGMENT_LENGTH: Final = wire.TERM_MIN_LENGTH
MAX_SEGMENT_LENGTH: Final = wire.TERM_MAX_LENGTH
#: A stream has at most 2**31 terms: a term count is an int32 from 0 on.
_TERM_COUNT_BITS: Final = 31

_Int32 = Annotated[int, Field(ge=INT32_MIN, le=INT32_MAX)]
_Int64 = Annotated[int, Field(ge=0, le=INT64_MAX)]
_Position = Annotated[int, Field(ge=0, multiple_of=wire.FRAME_ALIGNMENT)]


class RecordingDescriptor(BaseModel):
    """Properties of a recorded stream, and the positions at which its recording begins and ends."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="ignore")

    version: Literal[1] = 1  # of the format
    recording_id: _Int64  # unique in its archive
    channel: str  # the channel URI of the subscription
    stream_id: _Int32  # the stream within the channel
    session_id: _Int32  # of the recorded publication
    source_identity: str  # address:port of the sender, or aeron:ipc
    initial_term_id: _Int32  # the term id at which the stream began
    term_length: int  # bytes
    mtu_length: int  # bytes of the longest frame, header included
    segment_length: int  # bytes of a segment file, a power-of-two number of terms
    start_position: _Position  # of the first frame that was not purged
    stop_position: _Position | None = None  # None while it is live, or if its recorder died
    start_time_ns: _Int64  # since the epoch
    stop_time_ns: _Int64 | None = None  # end of the recording since the epoch; None while it grows
    appender: str | None = None  # the writer that appends batches; None for a recorded stream
    last_batch_id: int = -1  # id of the last appended batch
    is_end_of_stream: bool = False  # whether the publication ended, so that the recording cannot continue

    @model_validator(mode="after")
    def _check(self) -> RecordingDescriptor:
        check_term_length(self.term_length)
        check_mtu_length(self.mtu_length)
        check_segment_length(self.segment_length, self.term_length)
        most = self.max_position
        if self.stop_position is not None and self.stop_position < self.start_position:
            raise ConfigurationError(
                f"stop_position={self.stop_position}: must be from start_position={self.start_position} to "
                f"{most}, the end of the last term"
            )
        if (last := max(self.start_position, self.stop_position or 0)) > most:
            raise ConfigurationError(f"position {last}: must be from 0 to {most}, the end of the last term")
        return self

    @classmethod
    def parse(cls, text: str | bytes, where: str) -> RecordingDescriptor:
        """Return the descriptor in a file's text; raises CorruptRecordingError if it is invalid.

        `where`: the name of the file, for the message.
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            fault = first_fault(error, "descriptor")
            raise CorruptRecordingError(f"{where}: {fault}; restore a copy of the file") from None

    def format(self) -> bytes:
        """Return the text of the descriptor file."""
        return self.model_dump_json(indent=2).encode() + b"\n"

    @property
    def max_position(self) -> int:
        """The end of the last term that a stream can have."""
        return self.term_length << _TERM_COUNT_BITS

    @property
    def position_bits_to_shift(self) -> int:
        """The shift that turns a term count into a position: log2 of the term length."""
        return self.term_length.bit_length() - 1


def check_segment_length(segment_length: int, term_length: int) -> None:
    """Raise ConfigurationError unless `segment_length` is a power of two from `term_length` to 1 GiB."""
    if (
        segment_length & (segment_length - 1)
        or segment_length < term_length
        or segment_length > MAX_SEGMENT_LENGTH
    ):
        raise ConfigurationError(
            f"segment_length={segment_length}: must be a power of two from the term length, {term_length}, "
            f"to {MAX_SEGMENT_LENGTH} bytes"
        )


class DescribedStream(Protocol):
    """A recording as an Aeron Archive describes it, in its catalogue or in a message."""

    @property
    def recording_id(self) -> int:
        """The id of the recording."""

    @property
    def start_time_ms(self) -> int:
        """Time of the start, in milliseconds since the epoch."""

    @property
    def stop_time_ms(self) -> int | None:
        """Time of the stop, None while it is active."""

    @property
    def start_position(self) -> int:
        """The first position."""

    @property
    def stop_position(self) -> int | None:
        """The position at which it stopped, None while it is active."""

    @property
    def initial_term_id(self) -> int:
        """The term id at which the stream began."""

    @property
    def segment_length(self) -> int:
        """Bytes of a file."""

    @property
    def term_length(self) -> int:
        """Bytes of a term."""

    @property
    def mtu_length(self) -> int:
        """Bytes of the longest frame."""

    @property
    def session_id(self) -> int:
        """The session id of the publication."""

    @property
    def stream_id(self) -> int:
        """The stream id."""

    @property
    def source_identity(self) -> str:
        """The sender."""


def descriptor_of(described: DescribedStream, channel: str) -> RecordingDescriptor:
    """Return the descriptor of a recording of an Aeron Archive; raises ValidationError, see `first_fault`."""
    stop_ms = described.stop_time_ms
    return RecordingDescriptor(
        recording_id=described.recording_id,
        channel=channel,
        stream_id=described.stream_id,
        session_id=described.session_id,
        source_identity=described.source_identity,
        initial_term_id=described.initial_term_id,
        term_length=described.term_length,
        mtu_length=described.mtu_length,
        segment_length=described.segment_length,
        start_position=described.start_position,
        stop_position=described.stop_position,
        start_time_ns=described.start_time_ms * _NS_PER_MS,
        stop_time_ns=None if stop_ms is None else stop_ms * _NS_PER_MS,
    )


def first_fault(error: ValidationError, whole: str) -> str:
    """Return a text with the field, fault and value of the first error; `whole` if it concerns no single field."""
    fault = error.errors(include_url=False)[0]
    name = ".".join(str(part) for part in fault["loc"])
    value = "" if not name or fault["type"] == "missing" else f", not {fault['input']!r}"
    text = fault["msg"].removeprefix("Value error, ")  # before the text of a ConfigurationError
    return f"{name or whole}: {text}{value}"
