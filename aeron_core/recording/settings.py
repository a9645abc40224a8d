"""What a driver records by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from aeron_core.errors import ConfigurationError
from aeron_core.recording.retention.leases import DEFAULT_LEASE_TIMEOUT_NS
from aeron_core.recording.storage.descriptor import DEFAULT_SEGMENT_LENGTH
from aeron_core.recording.writing.durability import DEFAULT_INTERVAL_NS, Durability, DurabilityPolicy
from aeron_core.settings.model import SettingsModel
from aeron_core.settings.variables import Choice, Duration, Size, Text, Texts
from aeron_core.uri.values import INT32_MAX, INT32_MIN, INT64_MAX

if TYPE_CHECKING:
    from aeron_core.recording.retention.retention import RetentionPolicy

SECTION: Final = "recording"
_MIN_SEGMENT_LENGTH: Final = 64 * 1024
_MAX_SEGMENT_LENGTH: Final = 1024 * 1024 * 1024


class RecordingSettings(SettingsModel):
    """TOML table `[recording]`, and the environment from AERON_RECORDING_ on."""

    streams: Annotated[tuple[str, ...], Texts("AERON_RECORDING_STREAMS", strict=True)] = Field(
        (),
        description="Streams to record, each a channel and stream ids, such as `aeron:ipc 1001 1002`; none where "
        "empty. In the environment separated by commas, so that a channel with a comma needs a file.",
    )
    to: Annotated[str, Text("AERON_RECORDING_TO")] = Field(
        "", description="Archive to record into: a folder, or with a spool a URI. Made if it is not there."
    )
    spool: Annotated[str | None, Text("AERON_RECORDING_SPOOL", optional=True)] = Field(
        None, description="Folder to record into first, from where finished segments are moved."
    )
    durability: Annotated[
        DurabilityPolicy, Choice("AERON_RECORDING_DURABILITY", DurabilityPolicy, strict=True)
    ] = Field(
        DurabilityPolicy.INTERVAL,
        description="When what was written counts as recorded: block, interval or never.",
    )
    interval_ns: Annotated[int, Duration("AERON_RECORDING_INTERVAL", 1)] = Field(
        DEFAULT_INTERVAL_NS, description="Of the durability interval."
    )
    segment_length: Annotated[
        int, Size("AERON_RECORDING_SEGMENT_LENGTH", _MIN_SEGMENT_LENGTH, _MAX_SEGMENT_LENGTH)
    ] = Field(DEFAULT_SEGMENT_LENGTH, description="Bytes of a segment file, a power of two.")
    retain_bytes: Annotated[int, Size("AERON_RECORDING_RETAIN_BYTES", 0, INT64_MAX)] = Field(
        0, description="Bytes to keep the archive to; 0 without limit."
    )
    retain_age_ns: Annotated[int, Duration("AERON_RECORDING_RETAIN_AGE")] = Field(
        0, description="How long to keep segments; 0 without limit."
    )
    lease_timeout_ns: Annotated[int, Duration("AERON_RECORDING_LEASE_TIMEOUT", 1)] = Field(
        DEFAULT_LEASE_TIMEOUT_NS, description="After which a lease that was not renewed holds nothing."
    )

    def subscriptions(self) -> list[tuple[str, int]]:
        """Return channels with stream ids; raises ConfigurationError."""
        return [pair for stream in self.streams for pair in _pairs_of(stream)]

    def check(self) -> None:
        """Raise ConfigurationError where there is no place for what is to be recorded."""
        if self.streams and not self.to:
            raise ConfigurationError("recording.to: must be an archive, where recording.streams is set")

    def made_durability(self) -> Durability:
        """Return the policy and its interval."""
        return Durability(self.durability, self.interval_ns)

    def made_retention(self) -> RetentionPolicy:
        """Return what is kept, and how long."""
        from aeron_core.recording.retention.retention import RetentionPolicy  # noqa: PLC0415 - numpy is slow

        return RetentionPolicy(self.retain_bytes or None, self.retain_age_ns or None, self.lease_timeout_ns)


def _pairs_of(stream: str) -> list[tuple[str, int]]:
    channel, *ids = stream.split()
    try:
        numbers = [int(text) for text in ids]
    except ValueError:
        numbers = []
    if not numbers or not all(INT32_MIN <= number <= INT32_MAX for number in numbers):
        raise ConfigurationError(
            f"recording.streams: {stream!r}: must be a channel and its stream ids, such as 'aeron:ipc 1001 1002'"
        )
    return [(channel, number) for number in numbers]
