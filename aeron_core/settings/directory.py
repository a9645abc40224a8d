"""Settings: directory of the driver, and treatment of an existing one."""

from enum import Enum
from pathlib import Path
from typing import Annotated

from aeron_core._native import wire
from aeron_core.settings.aeron_dir import default_aeron_dir
from aeron_core.settings.fields import SettingsFields, setting
from aeron_core.settings.variables import Choice, FilePath, FolderMode, Integer, Size, Switch, Text
from aeron_core.uri.values import INT32_MAX, INT64_MAX

MIB = 1024 * 1024


class Storage(Enum):
    """Storage of log buffers: files in the directory of the driver, or POSIX shared-memory objects."""

    FILE = "file"
    POSIX = "posix"


class DirectorySettings(SettingsFields):
    """Directory of the driver, and storage of its files."""

    aeron_dir: Annotated[Path, FilePath("AERON_DIR")] = setting(
        default_factory=default_aeron_dir,
        description="Directory of the driver; clients find the driver by it.",
    )
    dir_warn_if_exists: Annotated[bool, Switch("AERON_DIR_WARN_IF_EXISTS")] = setting(
        False, description="Warn if the directory exists when the driver starts."
    )
    dir_delete_on_start: Annotated[bool, Switch("AERON_DIR_DELETE_ON_START")] = setting(
        False,
        description="Delete the directory when the driver starts, even if another driver in it is alive.",
    )
    dir_delete_on_shutdown: Annotated[bool, Switch("AERON_DIR_DELETE_ON_SHUTDOWN")] = setting(
        False, description="Delete the directory when the driver shuts down."
    )
    dir_mode: Annotated[int | None, FolderMode("AERON_CORE_DIR_MODE", optional=True, strict=True)] = setting(
        None,
        description="Mode of the driver's folders, and without execution of its files; 0700 if empty, or 0770 with "
        "dir_group.",
    )
    dir_group: Annotated[str | None, Text("AERON_CORE_DIR_GROUP", optional=True, strict=True)] = setting(
        None,
        description="Group of the driver's files, by name or number; the driver's user must be a member.",
    )
    driver_timeout_ms: Annotated[int, Integer("AERON_DRIVER_TIMEOUT", 0, INT64_MAX, is_unsigned=True)] = (
        setting(
            10_000,
            description="Milliseconds without a heartbeat after which another driver in the directory counts as dead.",
        )
    )
    storage: Annotated[Storage, Choice("AERON_CORE_STORAGE", Storage)] = setting(
        Storage.FILE, description="Keep log buffers in files of the directory or in POSIX shared memory."
    )
    perform_storage_checks: Annotated[bool, Switch("AERON_PERFORM_STORAGE_CHECKS")] = setting(
        True, description="Check for free space before a log buffer is created."
    )
    low_file_store_warning_threshold_length: Annotated[
        int, Size("AERON_LOW_FILE_STORE_WARNING_THRESHOLD", 0, INT64_MAX)
    ] = setting(160 * MIB, description="Warn if less than this is free.")
    file_page_size: Annotated[
        int,
        Size(
            "AERON_FILE_PAGE_SIZE",
            wire.PAGE_MIN_SIZE,
            INT32_MAX,
            sensible=(wire.PAGE_MIN_SIZE, wire.PAGE_MAX_SIZE),
        ),
    ] = setting(wire.PAGE_MIN_SIZE, description="Alignment of the files' lengths in bytes, a power of two.")
