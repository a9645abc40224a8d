"""`cnc.dat` (command and control), the file that a media driver shares with its clients: header and five sections.

Not here: the contents of the sections (concurrent) and liveness (driver, client). The header has the length of each
section; they follow one another from byte 128 on, and the file is aligned to the page size.

    version 0       the driver is still starting: do not read
    version 0.2.0   final: no field of the header changes any more

Invariant: the version is stored, with release, after everything else that a client needs.

Source: aeron_cnc_file_descriptor.h, aeron_driver.c.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aeron_core._native import wire
from aeron_core._native.mapped import synchronize
from aeron_core.concurrent.mapped_file import ObservedFile, create_mapped_file, open_mapped_file
from aeron_core.concurrent.records import is_power_of_two
from aeron_core.errors import CncIncompatibleError, CncNotReadyError, ConfigurationError, StorageError
from aeron_core.file_access import PRIVATE, FileAccess
from aeron_core.frozen import frozen

if TYPE_CHECKING:
    from aeron_core._native.buffer import AtomicBuffer

CNC_FILE: Final = "cnc.dat"

# The lengths in the header are signed 32-bit numbers, and readers add them up as such.
_MAX_LENGTH: Final = (1 << 31) - 1
# Alignment of section lengths: sections follow one another, and atomic access requires aligned sections.
_SECTION_ALIGNMENT: Final = 8
# Errors that may disappear while a driver starts, and that the reference retries, too: the folder or the file does not
# exist yet, is empty, or its permissions are not set yet.
_NOT_YET: Final = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.ENODATA)
# Not chmod alone: a driver that restarts creates the file anew, with the permissions of its settings.
_GROUP_HINT: Final = ", or start its driver with dir_group=GROUP, a group that this user is in"


@frozen(slots=True, kw_only=True)
class CncLayout:
    """Lengths of the sections in bytes, and the offsets that follow from them."""

    to_driver_length: int
    to_clients_length: int
    counters_metadata_length: int
    counters_values_length: int
    error_log_length: int
    page_size: int

    @classmethod
    def of(
        cls,
        *,
        to_driver_length: int,
        to_clients_length: int,
        counters_values_length: int,
        error_log_length: int,
        page_size: int,
    ) -> CncLayout:
        """Return the layout for a driver's settings, unchecked: one record of counter metadata per counter value."""
        ratio = wire.COUNTER_METADATA_LENGTH // wire.COUNTER_VALUE_LENGTH
        return cls(
            to_driver_length=to_driver_length,
            to_clients_length=to_clients_length,
            counters_metadata_length=counters_values_length * ratio,
            counters_values_length=counters_values_length,
            error_log_length=error_log_length,
            page_size=page_size,
        )

    @property
    def to_driver_offset(self) -> int:
        """Offset in bytes, in the file, of the ring buffer for commands."""
        return wire.CNC_META_DATA_LENGTH

    @property
    def to_clients_offset(self) -> int:
        """Offset in bytes, in the file, of the broadcast buffer for responses."""
        # The lengths of the ring and of the broadcast buffer include their trailers.
        return self.to_driver_offset + self.to_driver_length

    @property
    def counters_metadata_offset(self) -> int:
        """Offset in bytes, in the file, of the counter metadata."""
        return self.to_clients_offset + self.to_clients_length

    @property
    def counters_values_offset(self) -> int:
        """Offset in bytes, in the file, of the counter values."""
        return self.counters_metadata_offset + self.counters_metadata_length

    @property
    def error_log_offset(self) -> int:
        """Offset in bytes, in the file, of the distinct error log."""
        return self.counters_values_offset + self.counters_values_length

    @property
    def end_of_sections(self) -> int:
        """Offset in bytes of the end of the last section: the minimum length of the file."""
        return self.error_log_offset + self.error_log_length

    @property
    def file_length(self) -> int:
        """Length in bytes of the file that a driver creates: whole pages."""
        # Whole pages, as any mapping has; the bytes after the last section are not used.
        return (self.end_of_sections + self.page_size - 1) & -self.page_size

    def problem(self) -> str | None:
        """Return why a section or the page size is impossible, as the text of an error, or None."""
        for name in self.__slots__:
            length = getattr(self, name)
            if not 0 < length <= _MAX_LENGTH or length % _SECTION_ALIGNMENT:
                return f"{name}={length}: must be a multiple of {_SECTION_ALIGNMENT} from 8 to {_MAX_LENGTH} bytes"
        for name, length, trailer_length in (
            ("to_driver_length", self.to_driver_length, wire.RING_TRAILER_LENGTH),
            ("to_clients_length", self.to_clients_length, wire.BROADCAST_TRAILER_LENGTH),
        ):
            if not is_power_of_two(length - trailer_length):
                return f"{name}={length}: must be a power of two plus {trailer_length} bytes of trailer"
        if not is_power_of_two(self.page_size) or not (
            wire.PAGE_MIN_SIZE <= self.page_size <= wire.PAGE_MAX_SIZE
        ):
            return (
                f"page_size={self.page_size}: must be a power of two from {wire.PAGE_MIN_SIZE} "
                f"to {wire.PAGE_MAX_SIZE} bytes"
            )
        return None


class CncFile:
    """A mapped `cnc.dat`: created by `create` in a driver, opened by `open` elsewhere."""

    def __init__(self, path: Path, buffer: AtomicBuffer, layout: CncLayout) -> None:
        self.path: Final = path
        self.buffer: Final = buffer
        self.layout: Final = layout
        self.to_driver: Final = buffer.view(layout.to_driver_offset, layout.to_driver_length)
        self.to_clients: Final = buffer.view(layout.to_clients_offset, layout.to_clients_length)
        self.counters_metadata: Final = buffer.view(
            layout.counters_metadata_offset, layout.counters_metadata_length
        )
        self.counters_values: Final = buffer.view(
            layout.counters_values_offset, layout.counters_values_length
        )
        self.error_log: Final = buffer.view(layout.error_log_offset, layout.error_log_length)

    @classmethod
    def create(  # noqa: PLR0913 - the fields of the header
        cls,
        path: Path | str,
        layout: CncLayout,
        *,
        client_liveness_timeout_ns: int,
        start_timestamp_ms: int,
        pid: int,
        fill: bool = True,
        access: FileAccess = PRIVATE,
    ) -> CncFile:
        """Create the file, which must not exist, with all of its header except the version.

        With `fill`, all disk space is allocated now. Raises ConfigurationError for an impossible layout,
        StorageError if the file exists or cannot be created, allocated or mapped.
        """
        if problem := layout.problem():
            raise ConfigurationError(problem)
        if layout.file_length > _MAX_LENGTH:
            raise ConfigurationError(
                f"{CNC_FILE} of {layout.file_length} bytes, all sections together: "
                f"must be at most {_MAX_LENGTH}; use shorter buffers for commands, responses, counters or errors"
            )
        # The mapping is not populated: most pages are for counters and errors that a driver never has.
        buffer = create_mapped_file(path, layout.file_length, sparse=not fill, access=access)
        # Plain stores: while the version is 0, no other process reads these fields.
        for name, offset in _LENGTH_OFFSETS.items():
            buffer.put_i32(offset, getattr(layout, name))
        buffer.put_i64(wire.CNC_CLIENT_LIVENESS_TIMEOUT_NS_OFFSET, client_liveness_timeout_ns)
        buffer.put_i64(wire.CNC_START_TIMESTAMP_MS_OFFSET, start_timestamp_ms)
        buffer.put_i64(wire.CNC_PID_OFFSET, pid)
        return cls(Path(path), buffer, layout)

    @classmethod
    def open(cls, path: Path | str, *, read_only: bool = False) -> CncFile:
        """Map the file of a driver and check its header.

        Raises CncNotReadyError if the file is missing, this user may not open it (yet), or its driver has not completed
        it, CncIncompatibleError if it has another version or is damaged, StorageError if it cannot be mapped.
        """
        with _not_ready_yet():
            buffer = open_mapped_file(path, read_only=read_only)
        return cls.decode(path, buffer)

    @classmethod
    def observe(cls, path: Path | str) -> tuple[CncFile, ObservedFile]:
        """Map the file for reading, as `open` does; also return the file for checks of its length."""
        with _not_ready_yet():
            file = ObservedFile(path)
        return cls.decode(path, file.buffer), file

    @classmethod
    def decode(cls, path: Path | str, buffer: AtomicBuffer) -> CncFile:
        """Return the file mapped by `buffer` if its header is valid.

        Raises CncNotReadyError if its driver has not completed it, CncIncompatibleError if it has another version or is
        damaged.
        """
        if buffer.capacity <= wire.CNC_META_DATA_LENGTH:
            raise CncNotReadyError(
                f"{path} has {buffer.capacity} bytes: must be more than {wire.CNC_META_DATA_LENGTH}, wait until its "
                f"media driver has started"
            )
        # Acquire: a process that sees the version also sees the rest of the header, which was stored before it.
        _check_version(path, buffer.get_i32_acquire(wire.CNC_VERSION_OFFSET))
        lengths = {name: buffer.get_i32(offset) for name, offset in _LENGTH_OFFSETS.items()}
        # Drivers of Aeron 1.28 to 1.47 write the same version but no page size.
        lengths["page_size"] = lengths["page_size"] or wire.PAGE_MIN_SIZE
        layout = CncLayout(**lengths)
        if problem := layout.problem():
            raise CncIncompatibleError(f"{path} is damaged: {problem}; restart its media driver")
        if buffer.capacity < layout.end_of_sections:
            raise CncNotReadyError(
                f"{path} has {buffer.capacity} bytes: must have {layout.end_of_sections} for its sections, wait until "
                f"its media driver has started"
            )
        return cls(Path(path), buffer, layout)

    def publish(self) -> None:
        """Mark the file as complete: clients open it from now on. For its driver, once.

        Raises OSError if the mapping cannot be written back to the file.
        """
        # Release: pairs with the acquire in `decode`; a client that sees the version sees the whole header.
        self.buffer.put_i32_release(wire.CNC_VERSION_OFFSET, wire.CNC_VERSION)
        synchronize(self.buffer)

    @property
    def version(self) -> int:
        """The version as major << 16 | minor << 8 | patch; 0 until the driver has started."""
        return self.buffer.get_i32_acquire(wire.CNC_VERSION_OFFSET)

    @property
    def client_liveness_timeout_ns(self) -> int:
        """The time in ns for which a client may be silent before the driver times it out."""
        return self.buffer.get_i64(wire.CNC_CLIENT_LIVENESS_TIMEOUT_NS_OFFSET)

    @property
    def start_timestamp_ms(self) -> int:
        """The driver's start time in ms since the epoch."""
        return self.buffer.get_i64(wire.CNC_START_TIMESTAMP_MS_OFFSET)

    @property
    def pid(self) -> int:
        """The process id of the driver."""
        return self.buffer.get_i64(wire.CNC_PID_OFFSET)

    @property
    def page_size(self) -> int:
        """The page size in bytes to which the driver aligns its files; 4096 if the header has none."""
        return self.layout.page_size


_LENGTH_OFFSETS: Final = {
    "to_driver_length": wire.CNC_TO_DRIVER_BUFFER_LENGTH_OFFSET,
    "to_clients_length": wire.CNC_TO_CLIENTS_BUFFER_LENGTH_OFFSET,
    "counters_metadata_length": wire.CNC_COUNTERS_METADATA_LENGTH_OFFSET,
    "counters_values_length": wire.CNC_COUNTERS_VALUES_LENGTH_OFFSET,
    "error_log_length": wire.CNC_ERROR_LOG_LENGTH_OFFSET,
    "page_size": wire.CNC_FILE_PAGE_SIZE_OFFSET,
}


@contextmanager
def _not_ready_yet() -> Iterator[None]:
    """Raise CncNotReadyError instead of a StorageError that may end when the driver has started."""
    try:
        yield
    except StorageError as error:
        if error.errno in _NOT_YET:
            hint = _GROUP_HINT if error.errno in (errno.EACCES, errno.EPERM) else ""
            raise CncNotReadyError(f"{error.strerror}{hint}") from error
        raise


def _check_version(path: Path | str, version: int) -> None:
    if version == 0:
        raise CncNotReadyError(
            f"the media driver of {path} has not finished its start: wait, or start it again if it was killed"
        )
    text = f"{version >> 16}.{version >> 8 & 0xFF}.{version & 0xFF}"
    # As in the reference, later minor versions and patches are compatible, other major versions are not.
    if version >> 16 != wire.CNC_VERSION >> 16:
        raise CncIncompatibleError(
            f"{path} has version {text}: must be 0.2.0 or a later 0.x; use a media driver with such a version"
        )
    if version < wire.CNC_VERSION:
        raise CncIncompatibleError(
            f"{path} has version {text}, of a media driver before Aeron 1.28: must be 0.2.0 or a later 0.x; update "
            f"the media driver"
        )
