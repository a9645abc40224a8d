"""The machine that is examined: its files below a root, and what the kernel reports about sockets and clocks.

Invariant: a fact that cannot be read is None; no method raises an error of the system.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aeron_core.spi.udp_offload import detect_gro, detect_gso

#: Reads of the clock per measurement, of which the fastest of several counts. Invented: about a millisecond.
_CLOCK_READS: Final = 10_000
_CLOCK_ROUNDS: Final = 5


@dataclass(frozen=True, slots=True)
class DiskSpace:
    """Size of a filesystem, in bytes."""

    total: int
    free: int


class Machine:
    """Facts about a machine; tests read the files of other machines from a folder, `root`."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def path(self, path: Path | str) -> Path:
        """Return where the file `path` of the machine is; a relative path is one of this process."""
        path = Path(path)
        return self._root / path.relative_to("/") if path.is_absolute() else path

    def text(self, path: str) -> str | None:
        """Return the text of a file without the space around it."""
        try:
            return self.path(path).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return None

    def number(self, path: str) -> int | None:
        """Return the decimal number that a file contains."""
        text = self.text(path)
        return int(text) if text is not None and text.isdecimal() else None

    def fields(self, path: str) -> list[list[str]]:
        """Return the fields of each line of a file, which spaces separate; none if it cannot be read."""
        return [line.split() for line in (self.text(path) or "").splitlines()]

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder in alphabetical order; none if it cannot be read."""
        try:
            return sorted(os.listdir(self.path(folder)))
        except OSError:
            return []

    def link(self, path: str) -> str | None:
        """Return the target of a symbolic link."""
        try:
            return os.readlink(self.path(path))
        except OSError:
            return None

    def is_writable(self, folder: Path) -> bool:
        """Return whether this user may create files in a folder."""
        return os.access(self.path(folder), os.W_OK | os.X_OK)

    def space(self, folder: Path) -> DiskSpace | None:
        """Return the size of the filesystem of a folder."""
        try:
            found = os.statvfs(self.path(folder))
        except OSError:
            return None
        return DiskSpace(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)

    def socket_buffer_length(self, option: int, asked: int) -> int | None:
        """Return the bytes that a UDP socket gets for SO_RCVBUF or SO_SNDBUF after it asked for `asked` bytes."""
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                with suppress(OSError):
                    probe.setsockopt(socket.SOL_SOCKET, option, asked)
                # Linux reports twice the length, for its own structures. Source: socket(7).
                return probe.getsockopt(socket.SOL_SOCKET, option) // 2
        except OSError:
            return None

    def has_gso(self) -> bool | None:
        """Return whether the kernel splits what a UDP socket sends (UDP_SEGMENT)."""
        try:
            return detect_gso()
        except OSError:
            return None

    def has_gro(self) -> bool | None:
        """Return whether the kernel merges what a UDP socket receives (UDP_GRO)."""
        try:
            return detect_gro()
        except OSError:
            return None

    def clock_resolution_ns(self) -> int:
        """Return the resolution of the monotonic clock in ns."""
        return round(time.get_clock_info("monotonic").resolution * 1e9)

    def clock_read_ns(self) -> int:
        """Return the time that one read of the monotonic clock takes in Python, in ns."""
        durations = []
        for _ in range(_CLOCK_ROUNDS):
            start_ns = time.perf_counter_ns()
            for _ in range(_CLOCK_READS):
                time.monotonic_ns()
            durations.append(time.perf_counter_ns() - start_ns)
        return min(durations) // _CLOCK_READS
