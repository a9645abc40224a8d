"""Settings of the recorder in a driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from aeron_core.errors import ConfigurationError
from aeron_core.file_access import FileAccess
from aeron_core.recording.retention.leases import DEFAULT_LEASE_TIMEOUT_NS
from aeron_core.recording.storage.descriptor import (
    DEFAULT_SEGMENT_LENGTH,
    MAX_SEGMENT_LENGTH,
    MIN_SEGMENT_LENGTH,
)
from aeron_core.recording.writing.durability import DEFAULT_INTERVAL_NS, Durability, DurabilityPolicy
from aeron_core.settings.model import SettingsModel
from aeron_core.settings.variables import Choice, Duration, FolderMode, Size, Switch, Text, Texts
from aeron_core.uri.values import INT32_MAX, INT32_MIN, INT64_MAX

if TYPE_CHECKING:
    from aeron_core.recording.retention.retention import RetentionPolicy


class RecordingSettings(SettingsModel):
    """TOML table `[recording]`, and environment variables with the prefix AERON_RECORDING_."""

    streams: Annotated[tuple[str, ...], Texts("AERON_RECORDING_STREAMS", strict=True)] = Field(
        (),
        description="Streams to record, each a channel and stream ids, such as `aeron:ipc 1001 1002`; empty: none. "
        "Separated by commas in the environment, so a channel with a comma needs a settings file.",
    )
    to: Annotated[str, Text("AERON_RECORDING_TO")] = Field(
        "", description="Archive to record into: a folder, or with a spool a URI. Created if missing."
    )
    spool: Annotated[str | None, Text("AERON_RECORDING_SPOOL", optional=True)] = Field(
        None, description="Local folder to record into first; finished segments are moved to the archive."
    )
    durability: Annotated[
        DurabilityPolicy, Choice("AERON_RECORDING_DURABILITY", DurabilityPolicy, strict=True)
    ] = Field(
        DurabilityPolicy.INTERVAL,
        description="When written data counts as recorded: block, interval or never.",
    )
    interval_ns: Annotated[int, Duration("AERON_RECORDING_INTERVAL", 1)] = Field(
        DEFAULT_INTERVAL_NS, description="Time between flushes with durability interval."
    )
    segment_length: Annotated[
        int, Size("AERON_RECORDING_SEGMENT_LENGTH", MIN_SEGMENT_LENGTH, MAX_SEGMENT_LENGTH)
    ] = Field(DEFAULT_SEGMENT_LENGTH, description="Bytes of a segment file, a power of two.")
    retain_bytes: Annotated[int, Size("AERON_RECORDING_RETAIN_BYTES", 0, INT64_MAX)] = Field(
        0, description="Maximum bytes of the archive; 0: no limit."
    )
    retain_age_ns: Annotated[int, Duration("AERON_RECORDING_RETAIN_AGE")] = Field(
        0, description="Maximum age of segments; 0: no limit."
    )
    lease_timeout_ns: Annotated[int, Duration("AERON_RECORDING_LEASE_TIMEOUT", 1)] = Field(
        DEFAULT_LEASE_TIMEOUT_NS, description="Time after which a lease that was not renewed expires."
    )

    verify: Annotated[bool, Switch("AERON_RECORDING_VERIFY", strict=True)] = Field(
        True,
        description="With a spool, compare finished segments with their checksums before they are moved to the "
        "archive; damaged ones stay in the spool.",
    )

    dir_mode: Annotated[int | None, FolderMode("AERON_RECORDING_DIR_MODE", optional=True, strict=True)] = (
        Field(
            None,
            description="Mode of new folders of archive and spool, and without execution of files; 0700 if empty, with "
            "dir_group 0770.",
        )
    )
    dir_group: Annotated[str | None, Text("AERON_RECORDING_DIR_GROUP", optional=True, strict=True)] = Field(
        None, description="Group of new files of archive and spool, by name or number."
    )

    @property
    def file_access(self) -> FileAccess:
        """Mode and group of new files; raises ConfigurationError for a group that cannot be given to them."""
        return FileAccess.of(self.dir_mode, self.dir_group or "")

    def subscriptions(self) -> list[tuple[str, int]]:
        """Return a pair of channel and stream id for each stream; raises ConfigurationError for a malformed one."""
        return [pair for stream in self.streams for pair in _pairs_of(stream)]

    def check(self) -> None:
        """Raise ConfigurationError if there are streams to record and no archive, or for a wrong segment length."""
        if self.streams and not self.to:
            raise ConfigurationError(
                "recording.to is not set: must be an archive, such as a folder, if recording.streams is set"
            )
        # Otherwise each new image would fail, because the descriptor of its recording would be refused.
        if self.segment_length & (self.segment_length - 1):
            raise ConfigurationError(
                f"recording.segment_length={self.formatted('segment_length')}: must be a power of two from 64k to 1g"
            )

    def made_durability(self) -> Durability:
        """Return the durability policy with its interval."""
        return Durability(self.durability, self.interval_ns)

    def made_retention(self) -> RetentionPolicy:
        """Return the retention policy, without a limit for a setting of 0."""
        from aeron_core.recording.retention.retention import RetentionPolicy  # noqa: PLC0415 - lazy: importing numpy is slow

        return RetentionPolicy(self.retain_bytes or None, self.retain_age_ns or None, self.lease_timeout_ns)


def _pairs_of(stream: str) -> list[tuple[str, int]]:
    channel, *ids = stream.split() or [""]
    try:
        numbers = [int(text) for text in ids]
    except ValueError:
        numbers = []
    if not numbers or not all(INT32_MIN <= number <= INT32_MAX for number in numbers):
        raise ConfigurationError(
            f"recording.streams: {stream!r}: must be a channel and its stream ids, such as 'aeron:ipc 1001 1002', "
            f"with ids from {INT32_MIN} to {INT32_MAX}"
        )
    return [(channel, number) for number in numbers]
