"""Selection of the recordings of a query, and their current begin and end positions."""

from __future__ import annotations

import re
import time
from collections import deque
from dataclasses import dataclass
from typing import Final

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.archive.reading.opening import open_archive
from aeron_core.errors import (
    ConfigurationError,
    CorruptRecordingError,
    DataLossError,
    RecordingNotFoundError,
)
from aeron_core.recording import Recording
from aeron_core.recording._native import faults
from pyspark_aeron.options import EARLIEST_POSITION, LATEST_POSITION, Positions, SourceOptions
from pyspark_aeron.reading.offsets import Offset

# Bounds of the growing pause between polls of an idle archive. Invented numbers: a compromise between the cost of a
# poll and the latency it adds.
_SHORTEST_PAUSE_S: Final = 0.001
_LONGEST_PAUSE_S: Final = 0.04
# Positions of a recording that are remembered, and the wanted distance of one before a range. Invented numbers: most
# messages are shorter than the distance, and a replay of it takes a millisecond.
_SEEN_COUNT: Final = 8
_NEAR_LENGTH: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Range:
    """A piece of one recording: the bytes from position `begin` up to position `end`."""

    recording_id: int
    begin: int
    end: int
    #: End of a frame before `begin`, from which to look for the message that contains `begin`; None if none is known.
    near: int | None = None

    @property
    def length(self) -> int:
        """Length in bytes."""
        return self.end - self.begin


class Selection:
    """View of an archive through the options of a query; used by one thread.

    Raises RecordingNotFoundError if there is no archive, CorruptRecordingError if its catalogue is damaged, unless
    failOnDataLoss is false.
    """

    def __init__(self, options: SourceOptions) -> None:
        self.options = options
        self.archive = open_archive(options.archive, checksum=options.checksum)
        self._seen: dict[int, deque[int]] = {}
        faults = self.archive.faults()
        if faults and options.fail_on_data_loss:
            raise CorruptRecordingError(
                f"{faults[0]}, or set failOnDataLoss=false to read the recordings that were found"
            )

    def recordings(self) -> list[Recording]:
        """Return the existing recordings that match; raises RecordingNotFoundError for a missing id."""
        ids = self.options.recordings
        if ids is not None:
            return [self.archive.recording(recording_id) for recording_id in ids]
        return [recording for recording in self.archive.recordings() if self._matches(recording)]

    def recording(self, recording_id: int) -> Recording:
        """Return one recording, also if it does not match; raises RecordingNotFoundError if it does not exist."""
        return self.archive.recording(recording_id)

    def start(self) -> Offset:
        """Return the offset at which a new query begins.

        Raises DataLossError for a given position outside of its recording, ConfigurationError for one within a frame,
        RecordingNotFoundError for a missing id.
        """
        return self._offset(self.options.starting_position)

    def end(self) -> Offset:
        """Return the offset at which a batch query ends; raises the errors of `start`."""
        return self._offset(self.options.ending_position)

    def latest(self, start: Offset | None = None) -> Offset:
        """Return the recorded positions; a recording that was deleted keeps its position of `start`.

        Raises RecordingNotFoundError for a missing id of option `recordings`.
        """
        positions = dict(start.positions) if start is not None else {}
        for recording in self.recordings():
            position = positions[recording.recording_id] = recording.position
            if not recording.ends_with_message:
                seen = self._seen.setdefault(recording.recording_id, deque(maxlen=_SEEN_COUNT))
                if not seen or seen[-1] != position:
                    seen.append(position)
        return Offset(self.archive.uuid, positions)

    def wait_after(self, start: Offset, timeout_ns: int) -> Offset:
        """Return the latest offset as soon as it differs from `start`, or after `timeout_ns`; raises as `latest`."""
        deadline_s = time.monotonic() + timeout_ns / 1e9
        pause_s = _SHORTEST_PAUSE_S
        while True:
            latest = self.latest(start)
            left_s = deadline_s - time.monotonic()
            if latest.positions != start.positions or left_s <= 0:
                return latest
            time.sleep(min(pause_s, left_s))
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)

    def ranges(self, start: Offset, end: Offset) -> list[Range]:
        """Return the ranges between two offsets; recordings that are not in `start` begin at their first position.

        Raises DataLossError if a part of a range, or a whole recording, was purged; with failOnDataLoss=false
        it is skipped with a warning.
        """
        found = []
        for recording_id, end_position in sorted(end.positions.items()):
            begin = start.positions.get(recording_id)
            if begin == end_position:
                continue
            try:
                held = self.recording(recording_id).start_position
            except RecordingNotFoundError:
                self._lose(
                    f"recording {recording_id} position {begin or 0}: was purged with the whole recording"
                )
                continue
            if begin is None:
                begin = min(held, end_position)
            elif begin < held:
                self._lose(
                    f"recording {recording_id} position {begin}: was purged, the first available position is {held}"
                )
                begin = min(held, end_position)
            if begin < end_position:
                found.append(Range(recording_id, begin, end_position, self._near(recording_id, begin)))
        return found

    def _near(self, recording_id: int, position: int) -> int | None:
        """Return a position that the recording had before, and `_NEAR_LENGTH` bytes before `position` if possible."""
        before = [seen for seen in self._seen.get(recording_id, ()) if seen < position]
        far = [seen for seen in before if position - seen >= _NEAR_LENGTH]
        return far[-1] if far else before[0] if before else None

    def _lose(self, message: str) -> None:
        if self.options.fail_on_data_loss:
            raise DataLossError(
                f"{message}; set failOnDataLoss=false to skip what was lost, and consumerName to prevent such losses"
            )
        print(f"warning: data loss: {message}", flush=True)

    def _matches(self, recording: Recording) -> bool:
        options = self.options
        if options.channel is None and options.channel_pattern is None and options.stream_id is None:
            return True  # without reading the descriptor, because there may be thousands
        descriptor = recording.descriptor
        if options.channel is not None and descriptor.channel != options.channel:
            return False
        if options.channel_pattern is not None and not re.fullmatch(
            options.channel_pattern, descriptor.channel
        ):
            return False
        return options.stream_id is None or descriptor.stream_id == options.stream_id

    def _offset(self, positions: Positions) -> Offset:
        return Offset(
            self.archive.uuid,
            {recording.recording_id: _position_of(recording, positions) for recording in self.recordings()},
        )


def _position_of(recording: Recording, positions: Positions) -> int:
    if positions.at == "earliest":
        return recording.start_position
    if positions.at == "latest":
        return recording.position
    if positions.at == "time":
        return recording.position_at(positions.time_ns)
    given = positions.given.get(recording.recording_id, EARLIEST_POSITION)
    if given == EARLIEST_POSITION:
        return recording.start_position
    if given == LATEST_POSITION:
        return recording.position
    if not recording.start_position <= given <= recording.position:
        raise DataLossError(
            f"recording {recording.recording_id} position {given}: must be from {recording.start_position} "
            f"to {recording.position}; change startingPosition or endingPosition"
        )
    _check_border(recording, given)
    return given


def _check_border(recording: Recording, position: int) -> None:
    """Raise ConfigurationError for a position within a frame, which readers would report as corruption."""
    if position == recording.position:
        return
    (_, header), *_ = recording.read(position, position + wire.DATA_HEADER_LENGTH)
    scanner = recording.scanner(verify=False)
    scanner.scan(AtomicBuffer(header), 0, len(header), position)
    if scanner.fault not in {faults.NO_FAULT, faults.CUT_SHORT}:
        near = recording.border_before(position, recording.start_position)
        raise ConfigurationError(
            f"recording {recording.recording_id} position {position}: must be the end of a message, such as {near}: "
            f"{scanner.fault_text()}"
        )
