"""Parameters of a shipper: files, window, intervals and handlers."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_NS_PER_MS: Final = 1_000_000


def _ignore(_: object) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class ShipperParams:
    """Parameters of a shipper."""

    patterns: Sequence[str]
    state_folder: Path
    from_end: bool = False
    is_raw: bool = False
    needs_objects: bool = False  # with `is_raw`: the channel accepts JSON objects only
    follows: bool = True  # if false, stop at the end of the existing files
    host: str = field(default_factory=socket.gethostname)
    max_line_length: int = (
        64 * 1024
    )  # an invented number; longer lines, such as stack traces in one line, are split
    window_length: int = 1024 * 1024  # an invented number: after a crash, at most so much is shipped twice
    read_length: int = 64 * 1024  # of one file, before the next file is read
    scan_interval_ns: int = 1000 * _NS_PER_MS  # between scans for new files
    read_interval_ns: int = 100 * _NS_PER_MS  # between reads of files without new data
    save_interval_ns: int = 500 * _NS_PER_MS
    polls: bool = False  # do not ask the kernel for notifications of changes
    on_error: Callable[[OSError], object] = _ignore
    on_polling: Callable[[str], object] = _ignore  # why a limit prevents notifications, once
    epoch_ns: Callable[[], int] = time.time_ns
