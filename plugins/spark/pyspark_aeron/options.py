"""Options of the data source, given by `.option(name, value)`."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from aeron_core.archive.reading.address import is_address
from aeron_core.errors import ConfigurationError
from aeron_core.recording.storage.archive import FrameChecksum
from aeron_core.uri.values import INT32_MAX, INT32_MIN, parse_duration_ns, parse_size
from pyspark_aeron.option_parsing import Location, Options

# Spark's default for its own file formats. Source: spark.sql.files.maxPartitionBytes.
_PARTITION_LENGTH: Final = 128 * 1024 * 1024

EARLIEST: Final = "earliest"
LATEST: Final = "latest"

#: Symbolic positions in JSON. Source: ConsumerStrategy of Spark's Kafka connector.
EARLIEST_POSITION: Final = -2
LATEST_POSITION: Final = -1


def _size(value: object) -> int:
    return parse_size(str(value))


def _duration(value: object) -> int:
    return parse_duration_ns(str(value))


def _ids(value: object) -> tuple[int, ...]:
    text = str(value)
    if not re.fullmatch(r"\s*\d+\s*(,\s*\d+\s*)*", text):
        raise ConfigurationError(f"{text!r}: must be recording ids with commas between them, such as 1,2")
    return tuple(sorted({int(part) for part in text.split(",")}))


def _pattern(value: object) -> str:
    try:
        re.compile(str(value))
    except re.error as error:
        raise ConfigurationError(f"{value!r}: must be a regular expression: {error}") from None
    return str(value)


Size = Annotated[int, BeforeValidator(_size), Field(gt=0)]
Ids = Annotated[tuple[int, ...], BeforeValidator(_ids)]
DurationNs = Annotated[int, BeforeValidator(_duration), Field(ge=0)]


class Positions(BaseModel):
    """Begin or end of a query: earliest, latest, a time, or positions in bytes by recording id."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)

    at: Literal["earliest", "latest", "time", "given"]
    time_ns: int = 0  # since the epoch
    given: dict[int, int] = {}

    @classmethod
    def parse(cls, text: str) -> Positions:
        """Parse `earliest`, `latest`, an ISO 8601 time (UTC without an offset) or JSON with positions by recording id.

        Raises ConfigurationError for other text, and for positions that are not multiples of 32, -1 or -2.
        """
        if text in {EARLIEST, LATEST}:
            return cls(at="earliest" if text == EARLIEST else "latest")
        if text.lstrip().startswith("{"):
            return cls(at="given", given=_given(text))
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise ConfigurationError(
                f"{text!r}: must be earliest, latest, a time such as 2026-01-31T12:00:00Z, or positions by recording "
                'id such as {"1": 4096, "2": -2}, where -2 is earliest and -1 is latest'
            ) from None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return cls(at="time", time_ns=round(moment.timestamp() * 1_000_000) * 1_000)


def _given(text: str) -> dict[int, int]:
    try:
        document = json.loads(text)
        given = {int(recording_id): position for recording_id, position in document.items()}
    except (ValueError, AttributeError) as error:
        raise ConfigurationError(f"{text!r}: must be JSON with positions by recording id: {error}") from None
    for recording_id, position in given.items():
        if not isinstance(position, int) or position < EARLIEST_POSITION or (position > 0 and position % 32):
            raise ConfigurationError(
                f"position {position!r} of recording {recording_id}: must be a multiple of 32 from 0 to "
                "the end of the recording, -2 (earliest) or -1 (latest)"
            )
    return given


def _positions(value: object) -> Positions:
    return value if isinstance(value, Positions) else Positions.parse(str(value))


PositionsOption = Annotated[Positions, BeforeValidator(_positions)]


class SourceOptions(Options):
    """Options of the readers."""

    archive: Location = Field(
        "",
        description="Folder or URI of the archive, or the address of a running Aeron Archive, `aeron:archive?…`; can "
        "be given as argument of `load` instead.",
    )
    recordings: Ids | None = Field(
        None,
        description="Ids of the recordings to read, separated by commas; default: all that match the other options.",
    )
    channel: str | None = Field(None, description="Only recordings of exactly this channel.")
    stream_id: Annotated[int, Field(ge=INT32_MIN, le=INT32_MAX)] | None = Field(
        None, description="Only recordings of this stream id."
    )
    channel_pattern: Annotated[str, BeforeValidator(_pattern)] | None = Field(
        None, description="Only recordings with a channel that fully matches this regular expression."
    )
    starting_position: PositionsOption = Field(
        Positions(at="earliest"),
        description="Where a new query begins: earliest, latest, a time (ISO 8601; UTC without an offset), or JSON "
        "with positions by recording id, -2 for earliest and -1 for latest. A recording that is not in the JSON, or "
        "that appears later, is read from its beginning.",
    )
    ending_position: PositionsOption = Field(
        Positions(at="latest"), description="Where a batch query ends, in the format of `startingPosition`."
    )
    max_bytes_per_trigger: Size | None = Field(
        None,
        description="Maximum bytes of a micro-batch over all recordings, shared in proportion to their lags. "
        "Spark 4.1 ignores limits of data sources in Python.",
    )
    min_bytes_per_trigger: Size | None = Field(
        None,
        description="Minimum bytes of a micro-batch; waits for them for at most `maxTriggerDelay`. "
        "Spark 4.1 ignores it.",
    )
    max_trigger_delay: DurationNs = Field(
        15 * 60_000_000_000,
        description="Maximum wait for `minBytesPerTrigger`, such as 500ms, 10s or 15min.",
    )
    min_partitions: Annotated[int, Field(gt=0, le=100_000)] | None = Field(
        None, description="Minimum number of tasks of a batch, if it has enough terms."
    )
    partition_length: Size = Field(
        _PARTITION_LENGTH, description="Maximum bytes of a task, rounded to the end of a message."
    )
    fail_on_data_loss: bool = Field(
        True,
        description="Whether purged positions fail the query; otherwise it skips them with a warning.",
    )
    verify: bool = Field(
        True,
        description="Whether to compare everything that is read with the checksums of the recording; damaged data "
        "fails the query.",
    )
    checksum: FrameChecksum | None = Field(
        None,
        description="Checksum that an Aeron Archive has stored in all frames of a folder, `crc32` or `crc32c`: "
        "compared too, unless `verify` is false. The files do not state whether there are any.",
    )
    assemble: Literal["messages", "fragments"] = Field(
        "messages", description="Whether a row is a complete message, or a frame as it was recorded."
    )
    include_headers: bool = Field(
        False, description="Add a column `headers` with the catalogue entry of the recording."
    )
    consumer_name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")] | None = Field(
        None,
        description="Name of a lease on unread data, which retention honours; each running query needs another one.",
    )
    kafka_schema: bool = Field(
        False,
        description="Use the column names of Spark's Kafka connector: key, value, topic, partition, offset, …",
    )
    batch_rows: Annotated[int, Field(gt=0, le=1_048_576)] = Field(
        32_768, description="Maximum number of rows of an Arrow batch."
    )
    poll_timeout: DurationNs = Field(
        1_000_000_000, description="How long a micro-batch waits for new data before Spark polls again."
    )

    live: bool = Field(
        False,
        description="While the query runs, record the stream of `channel` and `streamId` into `archive`, a spool for "
        "this query only, and read from there.",
    )
    aeron_dir: str | None = Field(
        None,
        description="With `live`, the directory of the driver; default: AERON_DIR, or that of the user.",
    )
    spool_length: Size = Field(
        1024 * 1024 * 1024,
        description="With `live`, maximum of unread bytes before back pressure is applied to the stream.",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        missing = [
            name for name, value in (("channel", self.channel), ("streamId", self.stream_id)) if value is None
        ]
        if self.live and missing:
            raise ConfigurationError(
                f"option live: without {' and '.join(missing)}: both channel and streamId must be given with it, such "
                "as aeron:udp?endpoint=localhost:20121 and 1001"
            )
        if self.live and is_address(self.archive):
            raise ConfigurationError(
                "option live: must not be given with the address of a running archive, which records its streams "
                "itself: remove live"
            )
        if self.channel is not None and self.channel_pattern is not None:
            other = "" if self.live else ", or channel to read all channels that match the pattern"
            raise ConfigurationError(
                f"options channel={self.channel} and channelPattern={self.channel_pattern}: only one of them can be "
                f"given; remove channelPattern to read this channel only{other}"
            )
        if not self.archive:
            wanted = (
                "the folder into which the live stream is recorded"
                if self.live
                else "the folder or URI that `aeron-core record --to` wrote to"
            )
            raise ConfigurationError(
                f"option archive: must be given, {wanted}; Spark passes no options of a table to its queries: repeat "
                "them, as in SELECT * FROM events WITH (archive = 'recordings')"
            )
        return self
