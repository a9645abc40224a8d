"""Options of the sink, as they are written in `.option(name, value)`."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from aeron_core.errors import ConfigurationError
from aeron_core.recording.batch_appender import DEFAULT_TERM_LENGTH
from aeron_core.recording.descriptor import DEFAULT_SEGMENT_LENGTH
from aeron_core.uri.values import INT32_MAX, INT32_MIN
from pyspark_aeron.option_parsing import Options, Place
from pyspark_aeron.options import DurationNs, Size


class SinkOptions(Options):
    """What a writer is told: an archive to record into, or a channel to publish on."""

    archive: Place = Field(
        "",
        description="Folder of the archive to record into; the argument of `save` and `start` does the same.",
    )
    channel: str | None = Field(
        None,
        description="Without an archive, the channel to publish on; with one, the channel that the recording is "
        "listed under, `spark:<query>` where unset.",
    )
    stream_id: Annotated[int, Field(ge=INT32_MIN, le=INT32_MAX)] = Field(
        0, description="Stream within the channel."
    )
    term_length: Size = Field(
        DEFAULT_TERM_LENGTH,
        description="Bytes of a term of the recording; a message has an eighth of it at most.",
    )
    segment_length: Size = Field(
        DEFAULT_SEGMENT_LENGTH, description="Bytes of a segment file of the recording."
    )
    aeron_dir: str | None = Field(
        None, description="Directory of the driver to publish through, on the machine of the Spark driver."
    )
    staging: Place | None = Field(
        None,
        description="Folder for what tasks have written and no commit has published, reached by all machines; within "
        "the archive, or a temporary folder of a single machine, where unset.",
    )
    dedupe: Literal["reserved", "header", "none"] = Field(
        "reserved",
        description="Where a published message says which row it is, so that a repetition is known: in the reserved "
        "value (batch and sequence), in 24 bytes before the message (query, batch, partition, sequence), or not.",
    )
    connect_timeout: DurationNs = Field(
        30_000_000_000, description="How long a commit waits for a subscriber, and for room to publish."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.archive and self.channel is None:
            raise ConfigurationError(
                "option archive or channel: must be given, to record into or to publish on"
            )
        return self
