"""Parameters of the log of a publication or an image, from the metadata at the end of its file.

The counters show positions and limits, but neither windows nor whether a publication is connected: these are here.
The file is read, not mapped: another driver may delete or shorten it at any time. Paths of logs:

    <directory>/publications/<registration id>.logbuffer                                storage=file
    /dev/shm/aeron-core-<pid>-<random>-publications-<registration id>.logbuffer          storage=posix; images likewise

Source: aeron_logbuffer_descriptor.h. Drivers before Aeron 1.48 do not write windows: they are None then.
"""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import Final

from aeron_core._native import wire
from aeron_core.frozen import frozen

PUBLICATIONS: Final = "publications"
IMAGES: Final = "images"

_SHARED_MEMORY: Final = "/dev/shm"


@frozen(slots=True)
class LogParameters:
    """Parameters of one log, lengths in bytes; a window is None if its driver does not write it."""

    term_length: int  # of one of the three terms
    mtu: int  # longest datagram
    publisher_window: int | None  # of a publication: from the slowest consumer to the publisher limit
    receiver_window: int | None  # of an image: the longest that its receiver offers
    is_connected: bool  # whether publishers may offer; always False for an image


class LogReader:
    """Reads the parameters of the logs of one driver at one time; `pid` is the process id of the driver."""

    def __init__(self, aeron_dir: Path, pid: int) -> None:
        self._aeron_dir = str(aeron_dir)
        self._pid = pid

    def read(self, folder: str, registration_id: int) -> LogParameters | None:
        """Return the parameters of a log; None if this user cannot read it, it is gone, or it is not valid.

        `folder`: PUBLICATIONS or IMAGES.
        """
        name = f"{registration_id}.logbuffer"
        metadata = _read_metadata(f"{self._aeron_dir}/{folder}/{name}")
        if metadata is None:
            # A process with several embedded drivers may have several logs with this id: none is certain then.
            found = self._shared_memory.get(f"{folder}-{name}", ())
            metadata = _read_metadata(f"{_SHARED_MEMORY}/{found[0]}") if len(found) == 1 else None
        return None if metadata is None else _decoded(metadata)

    @cached_property
    def _shared_memory(self) -> dict[str, list[str]]:
        """Names of the logs of this process in POSIX shared memory, by what follows its random part."""
        found: dict[str, list[str]] = {}
        prefix = f"aeron-core-{self._pid}-"
        try:
            names = os.listdir(_SHARED_MEMORY)
        except OSError:
            names = []
        for name in names:
            if name.startswith(prefix) and name.endswith(".logbuffer"):
                found.setdefault(name[len(prefix) :].partition("-")[2], []).append(name)
        return found


def _read_metadata(path: str) -> bytes | None:
    try:
        # O_NONBLOCK: the path may be a named pipe, which would block until a writer opens it.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        offset = os.fstat(descriptor).st_size - wire.LOG_META_DATA_LENGTH
        metadata = os.pread(descriptor, wire.LOG_META_DATA_LENGTH, offset) if offset > 0 else b""
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return metadata if len(metadata) == wire.LOG_META_DATA_LENGTH else None


def _decoded(metadata: bytes) -> LogParameters | None:
    def number(offset: int) -> int:
        return int.from_bytes(metadata[offset : offset + 4], "little", signed=True)

    term_length = number(wire.LOG_TERM_LENGTH_OFFSET)
    mtu = number(wire.LOG_MTU_LENGTH_OFFSET)
    if not wire.TERM_MIN_LENGTH <= term_length <= wire.TERM_MAX_LENGTH or not 0 < mtu <= term_length:
        return None
    return LogParameters(
        term_length,
        mtu,
        _window(number(wire.LOG_PUBLICATION_WINDOW_LENGTH_OFFSET), term_length),
        _window(number(wire.LOG_RECEIVER_WINDOW_LENGTH_OFFSET), term_length // 2),
        number(wire.LOG_IS_CONNECTED_OFFSET) == 1,
    )


def _window(length: int, most: int) -> int | None:
    return min(length, most) if length > 0 else None
