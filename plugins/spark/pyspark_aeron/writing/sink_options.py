"""Options of the sink, given by `.option(name, value)`, and its columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from aeron_core.archive.reading.address import is_address
from aeron_core.errors import ConfigurationError
from aeron_core.recording.storage.descriptor import DEFAULT_SEGMENT_LENGTH
from aeron_core.recording.writing.batch_appender import DEFAULT_TERM_LENGTH
from aeron_core.uri.values import INT32_MAX, INT32_MIN
from pyspark_aeron.option_parsing import Location, Options
from pyspark_aeron.options import DurationNs, Size

#: Columns for the message; the second is the name in Spark's Kafka connector.
PAYLOAD_COLUMNS: Final = ("payload", "value")
RESERVED_COLUMN: Final = "reserved"


class SinkOptions(Options):
    """Options of the writers: an archive to record into, or a channel to publish on."""

    archive: Location = Field(
        "",
        description="Folder of the archive to record into; can be given as argument of `save` and `start`.",
    )
    channel: str | None = Field(
        None,
        description="Without an archive, the channel to publish on; with one, the channel under which the recording is "
        "listed, by default `spark:<query>`.",
    )
    stream_id: Annotated[int, Field(ge=INT32_MIN, le=INT32_MAX)] = Field(
        0, description="Stream within the channel."
    )
    term_length: Size = Field(
        DEFAULT_TERM_LENGTH,
        description="Length of a term of the recording in bytes; the maximum message length is an eighth of it.",
    )
    segment_length: Size = Field(
        DEFAULT_SEGMENT_LENGTH, description="Length of a segment file of the recording in bytes."
    )
    aeron_dir: str | None = Field(
        None, description="Directory of the driver to publish through, on the machine of the Spark driver."
    )
    staging: Location | None = Field(
        None,
        description="Folder for rows between task and commit, accessible from all machines; default: within the "
        "archive, or a temporary folder, which works on a single machine only.",
    )
    dedupe: Literal["reserved", "header", "none"] = Field(
        "reserved",
        description="Where a published message carries its identity, to detect duplicates: in the reserved value "
        "(batch and sequence), in 24 bytes before the message (query, batch, partition, sequence), or not at all.",
    )
    connect_timeout: DurationNs = Field(
        30_000_000_000,
        description="Maximum time that a commit waits for a subscriber, and during back pressure.",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if is_address(self.archive):
            raise ConfigurationError(
                f"option archive={self.archive}: must be a folder: give channel instead, to publish a stream that the "
                "Aeron Archive records"
            )
        if self.staging is not None and (not self.staging.startswith("/") or not self.staging.strip("/")):
            raise ConfigurationError(
                f"option staging={self.staging}: must be a folder that all machines have in their file system, but not "
                "its root: mount shared storage, and give a folder there"
            )
        if not self.archive and self.channel is None:
            raise ConfigurationError(
                "neither archive nor channel is set: must have archive to record into, or channel to publish on"
            )
        return self


def check_columns(types: Mapping[str, str]) -> None:
    """Raise ConfigurationError if the columns, names with types of Spark's DDL, do not form a message."""
    payload = next((name for name in PAYLOAD_COLUMNS if name in types), None)
    if payload is None:
        raise ConfigurationError(
            f"columns {', '.join(types)}: must contain payload or value, the message; may contain reserved (bigint "
            "or int), its reserved value"
        )
    if types[payload] not in {"binary", "string"}:
        raise ConfigurationError(f"column {payload} {types[payload]}: must be binary or string")
    others = types.keys() - {payload, RESERVED_COLUMN}
    if others:
        raise ConfigurationError(
            f"columns {', '.join(sorted(others))}: would be lost; select payload and reserved alone, such as "
            "to_json(struct(*)) AS payload"
        )
    if types.get(RESERVED_COLUMN, "bigint") not in {"bigint", "int"}:
        raise ConfigurationError(f"column reserved {types[RESERVED_COLUMN]}: must be bigint or int")
