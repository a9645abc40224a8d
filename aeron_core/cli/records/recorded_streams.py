"""Streams that a command records: shown on a terminal while it runs, and as a summary at the end."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.live import Live
from rich.table import Table

from aeron_core.cli.options import is_terminal
from aeron_core.cli.text_table import counted
from aeron_core.frozen import frozen
from aeron_core.recording.storage.descriptor import RecordingDescriptor
from aeron_core.recording.writing.image_recorder import ImageRecorder

_INTERVAL_S: Final = 0.5
_MEGABYTE: Final = 1_000_000
#: Recordings that have ended whose positions are returned, the newest ones. Invented.
MAX_ENDED: Final = 1000


@frozen()
class EndedStream:
    """What is left of a recording that has ended: its recorder would keep the log of the image in memory."""

    descriptor: RecordingDescriptor
    recorded_position: int


class RecordedStreams:
    """Recordings in the order in which this command started them; shown on stderr if it is a terminal."""

    def __init__(self) -> None:
        self._streams: dict[int, ImageRecorder | EndedStream] = {}  # by recording id
        self._begins: dict[int, int] = {}  # position at which this command started, by recording id
        self._shown: dict[int, int] = {}  # position when last shown
        self._rates: dict[int, float] = {}
        self._start_s = self._shown_s = time.monotonic()
        self._was_active = False
        self._live = (
            Live(console=Console(stderr=True), auto_refresh=False, transient=True) if is_terminal() else None
        )

    def add(self, stream: ImageRecorder) -> None:
        """Add a recording that starts or continues."""
        recording_id = stream.writer.descriptor.recording_id
        self._streams[recording_id] = stream
        self._begins.setdefault(recording_id, stream.writer.recorded_position)

    def positions(self) -> list[tuple[RecordingDescriptor, int]]:
        """Return the descriptor and the recorded position of each recording, of at most `MAX_ENDED` that have ended.

        For any thread.
        """
        streams = tuple(self._streams.values())
        ended = [each for each in streams if isinstance(each, EndedStream)]
        active = [each for each in streams if not isinstance(each, EndedStream)]
        return [*map(_state_of, ended[-MAX_ENDED:]), *map(_state_of, active)]

    def note_end(self) -> None:
        """Store whether any stream is active; call before the recorder stops."""
        self._was_active = any(
            not isinstance(stream, EndedStream) and not stream.is_stopped and not stream.image.is_closed
            for stream in self._streams.values()
        )

    def was_active(self) -> bool:
        """Return whether a stream was active at the last `note_end`."""
        return self._was_active

    def show(self) -> None:
        """Release what has ended, and update the display, if that is due; cheap enough for every duty cycle."""
        now_s = time.monotonic()
        if now_s - self._shown_s < _INTERVAL_S:
            return
        self._release()
        if self._live is None:
            self._shown_s = now_s
            return
        for key, stream in self._streams.items():
            _, position = _state_of(stream)
            moved = position - self._shown.get(key, self._begins[key])
            self._rates[key] = moved / _MEGABYTE / (now_s - self._shown_s)
            self._shown[key] = position
        self._shown_s = now_s
        self._live.update(self._table(), refresh=True)

    def _release(self) -> None:
        for key, stream in self._streams.items():
            if not isinstance(stream, EndedStream) and stream.is_stopped:
                self._streams[key] = EndedStream(*_state_of(stream))

    def documents(self, archive: str) -> list[dict[str, object]]:
        """Return one JSON document per recording; `archive`: its path or URI, as the user named it."""
        return [
            {
                "recording_id": descriptor.recording_id,
                "archive": archive,
                "channel": descriptor.channel,
                "stream_id": descriptor.stream_id,
                "session_id": descriptor.session_id,
                "source_identity": descriptor.source_identity,
                "start_position": descriptor.start_position,
                "stop_position": descriptor.stop_position,
                "is_end_of_stream": descriptor.is_end_of_stream,
                "recorded_bytes": position - self._begins[descriptor.recording_id],
            }
            for descriptor, position in map(_state_of, self._streams.values())
        ]

    def sentence(self) -> str:
        """Return the totals of all recordings as a sentence."""
        seconds = max(time.monotonic() - self._start_s, 1e-9)
        length = sum(_state_of(stream)[1] - self._begins[key] for key, stream in self._streams.items())
        count = len(self._streams)
        return (
            f"recorded {counted(length, 'byte')} of {counted(count, 'stream')} in {seconds:.3f} s: "
            f"{length / _MEGABYTE / seconds:,.1f} MB/s"
        )

    def _table(self) -> Table:
        table = Table("recording", "stream", "session", box=None, pad_edge=False)
        table.add_column("position", justify="right")
        table.add_column("MB/s", justify="right")
        table.add_column("")
        for key, stream in self._streams.items():
            descriptor, position = _state_of(stream)
            table.add_row(
                str(key),
                str(descriptor.stream_id),
                str(descriptor.session_id),
                f"{position:,}",
                f"{self._rates[key]:,.1f}",
                "ended" if isinstance(stream, EndedStream) or stream.is_stopped else "",
            )
        return table

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()


def _state_of(stream: ImageRecorder | EndedStream) -> tuple[RecordingDescriptor, int]:
    """Return the descriptor and the recorded position."""
    if isinstance(stream, EndedStream):
        return stream.descriptor, stream.recorded_position
    return stream.writer.descriptor, stream.writer.recorded_position
