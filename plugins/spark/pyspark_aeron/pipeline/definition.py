"""Model of a pipeline file.

    name = "packages"
    checkpoint = "/data/checkpoints/packages"

    [sources.log]
    archive = "/data/recordings"
    decode = "utf8"
    watermark = { column = "ts", delay = "1 minute" }

    [[steps]]
    name = "per_minute"
    sql = "SELECT window(ts, '1 minute').start AS minute, count(*) AS events FROM log GROUP BY 1"

    [[sinks]]
    from = "per_minute"
    format = "parquet"
    path = "/data/tables/packages"

Does not import Spark: a file can be checked without it.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from aeron_core.errors import ConfigurationError
from aeron_core.settings.text_files import read_text_file
from aeron_core.uri.values import parse_duration_ns, shown
from pyspark_aeron.option_parsing import allowed

AVAILABLE_NOW = "available-now"
#: Formats that Spark writes into a folder.
FILE_FORMATS = frozenset({"parquet", "json", "csv", "orc", "text"})
#: Formats of tables with transactions, which a path or a name identifies.
LAKEHOUSES = frozenset({"delta", "iceberg"})

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MASTER = re.compile(r"local(\[[^\]]+\]|-cluster\[[^\]]+\])?|(spark|sc|k8s|mesos)://.+|yarn")
_INTERVAL = re.compile(r"([0-9]+) ?([A-Za-z]+)")
# Spark accepts only the long names of units, and counts in microseconds.
_UNITS = {
    "us": "microseconds",
    "ms": "milliseconds",
    "s": "seconds",
    "min": "minutes",
    "h": "hours",
    "d": "days",
}
_SHORT_NAMES = {form: unit for unit, name in _UNITS.items() for form in (name, name.removesuffix("s"))}

OutputMode = Literal["append", "update", "complete"]
_OTHER_MODE = {"update": "complete", "complete": "update"}


def _text(value: object) -> object:
    """Return a boolean or number as text, with Spark's spelling of true and false; other values unchanged."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else value


def _distinct(options: dict[str, str]) -> dict[str, str]:
    """Return the options; raises ConfigurationError if two of their names differ only in upper and lower case."""
    by_name: dict[str, list[str]] = {}
    for name in options:
        by_name.setdefault(name.lower(), []).append(name)
    twice = [" and ".join(names) for names in by_name.values() if len(names) > 1]
    if twice:
        raise ConfigurationError(
            f"{', '.join(twice)}: must be given once, because names of options do not differ in upper and lower case "
            "only: remove all but one"
        )
    return options


OptionText = Annotated[str, BeforeValidator(_text)]
Settings = dict[str, OptionText]
#: Options by their names, which Spark compares without regard to upper and lower case; see `option_of`.
Options = Annotated[dict[str, OptionText], AfterValidator(_distinct)]


def option_of(options: Mapping[str, str], *names: str) -> str | None:
    """Return the value of the first of the lower-case `names` that is given, in any case; None if none is."""
    given = {name.lower(): value for name, value in options.items()}
    return next((given[name] for name in names if name in given), None)


def _identifier(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ConfigurationError(
            f"{value!r}: must be an SQL identifier: letters, digits and underscores, without a digit at its start"
        )
    return value


def _interval(value: str) -> str:
    """Return an interval with Spark's unit names, rounded up to microseconds; raises ConfigurationError for other text.

    `value` is a duration as everywhere else, or one with the long name of its unit, and with or without a space.
    """
    match = _INTERVAL.fullmatch(value)
    written = match[2].lower() if match else ""
    unit = _SHORT_NAMES.get(written, written)
    if match is None or unit not in {"ns", *_UNITS}:
        raise ConfigurationError(
            f"{shown(value)!r}: must be a whole number and a unit, such as 500ms, 10s or 2min, or 10 seconds, "
            "2 minutes, 1 hour or 1 day; a trigger may also be available-now"
        )
    duration_ns = parse_duration_ns(f"{match[1]}{unit}")
    unit = "us" if unit == "ns" else unit
    count = -(-duration_ns // parse_duration_ns(f"1{unit}"))
    return f"{count} {written if written in _SHORT_NAMES else _UNITS[unit]}"


def _trigger(value: str) -> str:
    return value if value == AVAILABLE_NOW else _interval(value)


def check_master(text: str) -> str:
    """Return the master of Spark that `text` names; raises ValueError if it has the form of none."""
    if not _MASTER.fullmatch(text):
        raise ValueError(
            "must be local[*] or another master of Spark, such as local[2], spark://host:port, sc://host:port, yarn or "
            "k8s://…"
        )
    return text


def _master(value: str) -> str:
    try:
        return check_master(value)
    except ValueError as error:
        raise ConfigurationError(f"{value!r}: {error}") from None


Identifier = Annotated[str, AfterValidator(_identifier)]
TriggerText = Annotated[str, AfterValidator(_trigger)]
IntervalText = Annotated[str, AfterValidator(_interval)]
MasterText = Annotated[str, AfterValidator(_master)]


class _Part(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Watermark(_Part):
    """Maximum lateness of rows: Spark may drop later ones."""

    column: str = Field(description="Column with the time of the event.")
    delay: IntervalText = Field(
        description="Maximum delay of a row behind the latest one, such as 10s or 1 minute."
    )


class Source(_Part):
    """An input stream or table; its name is used in SQL."""

    format: str = Field(
        "aeron", description="Data source: `aeron`, or any that Spark has, such as parquet or rate."
    )
    archive: str | None = Field(None, description="Folder or URI of the recordings, for the format aeron.")
    path: str | None = Field(None, description="Location of the data, for formats of Spark.")
    options: Options = Field({}, description="Options of the data source, by their original names.")
    columns: str | None = Field(None, description="Schema as Spark DDL; default: all columns.")
    decode: str = Field(
        "raw",
        description="Decoder of payloads: raw, utf8, json, arrow-ipc, avro, lumberjack, protobuf, sbe, or a plugin's.",
    )
    decode_options: Options = Field({}, description="Options of the decoder, such as schema.")
    dead_letters: Identifier | None = Field(
        None,
        description="Name of a view of the payloads that cannot be decoded: recording_id, position, reason, payload. "
        "The source does not have them then. Without it, their column `_corrupt` is not null.",
    )
    watermark: Watermark | None = Field(None, description="Maximum lateness of rows: column and delay.")
    static: bool = Field(False, description="Read once, as a table, instead of as a stream.")

    @property
    def archive_uri(self) -> str | None:
        """The archive, given as a key or as an option; None if it is not given."""
        return self.archive or option_of(self.options, "archive", "path")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.format == "aeron" and not self.archive_uri:
            raise ConfigurationError(
                "archive: must be given for the format aeron: the folder or URI of the recordings"
            )
        return self


class Step(_Part):
    """A view defined by SQL over earlier ones."""

    name: Identifier = Field(description="Name of the view.")
    sql: str = Field(description="A SELECT over sources and earlier steps.")
    watermark: Watermark | None = Field(None, description="Maximum lateness of rows: column and delay.")


class QuerySink(_Part):
    """Output of a source or step; each is a separate query."""

    source: Identifier = Field(alias="from", description="Name of the source or step.")
    name: Identifier | None = Field(None, description="Name of the query; default: that of `from`.")
    format: str = Field(
        "parquet", description="parquet, delta, iceberg, console, aeron, jdbc, or any that Spark has."
    )
    path: str | None = Field(None, description="Target: a folder or URI; for aeron the archive.")
    table: str | None = Field(
        None, description="For delta and iceberg, the name of the table in a catalog, instead of `path`."
    )
    mode: OutputMode = Field("append", description="append, update or complete, as Spark defines them.")
    options: Options = Field({}, description="Options of the data sink, by their original names.")
    partition_by: tuple[str, ...] = Field(
        (), description="Columns by which files of a table are partitioned; those of an existing one stay."
    )
    merge_on: tuple[str, ...] = Field(
        (),
        description="For delta and iceberg, the key columns: a row replaces that with the same key, or is added.",
    )
    merge_order: str | None = Field(
        None,
        description="With `merge_on`, the column, such as position, of which the greatest value of a key is kept. "
        "Without it, the row of a later batch is kept, and two rows with one key in a batch fail the query.",
    )
    schema_evolution: bool = Field(
        False,
        description="For delta and iceberg, whether to add columns to a table that lacks them; otherwise they are an "
        "error.",
    )
    trigger: TriggerText | None = Field(
        None, description="Trigger of this query; default: that of the pipeline."
    )

    @property
    def query(self) -> str:
        """The name of the query."""
        return self.name or self.source

    @model_validator(mode="after")
    def _check(self) -> Self:
        faults = []
        if self.format in FILE_FORMATS and self.path is None:
            faults.append(
                f"query {self.query}: path: must be given for {self.format}: a folder or URI to write to"
            )
        if self.format in FILE_FORMATS and self.mode != "append":
            faults.append(f"query {self.query}: mode {self.mode}: must be append for {self.format}")
        faults += [f"query {self.query}: {fault}" for fault in self._faults_of_table()]
        if self.format == "jdbc":
            given = {name.lower() for name in self.options}
            faults += [
                f"query {self.query}: options: {name} must be given for jdbc"
                for name in ("url", "dbtable")
                if name not in given
            ]
        if faults:
            raise ConfigurationError("; ".join(faults))
        return self

    def _faults_of_table(self) -> Iterator[str]:
        """Yield what is wrong with the keys of lakehouses."""
        if self.format not in LAKEHOUSES:
            for key in ("table", "merge_on", "merge_order", "schema_evolution"):
                if getattr(self, key):
                    yield f"{key}: must be given for {' and '.join(sorted(LAKEHOUSES))} only, not for {self.format}"
            return
        if (self.path is None) == (self.table is None):
            yield f"path, table: exactly one must be given for {self.format}: a folder or URI, or a name in a catalog"
        if self.merge_on and self.options:
            yield f"options: {', '.join(self.options)}: must not be given with merge_on, which does not use them"
        if self.merge_order is not None and not self.merge_on:
            yield f"merge_order={self.merge_order}: must be given with merge_on, the key columns, only"
        refused = "complete" if self.merge_on else "update"
        if self.mode == refused:
            kind = "with" if self.merge_on else "without"
            yield f"mode {self.mode}: must be append or {_OTHER_MODE[refused]} for {self.format} {kind} merge_on"


class Pipeline(_Part):
    """A complete pipeline file."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")] = Field(
        description="Name of the application, and begin of the names of the leases that retention honours: "
        "`<name>.<source>`, and `<name>.<source>.<query>` if several queries read a source."
    )
    master: MasterText = Field(
        "local[*]", description="local[*], spark://host:port, or sc://host:port for Spark Connect."
    )
    checkpoint: str = Field(description="Folder or URI for the checkpoints of all queries.")
    trigger: TriggerText = Field(
        "0 seconds",
        description="Time between micro-batches, such as 500ms or 10 seconds, or available-now to stop after the "
        "existing data.",
    )
    settings: Settings = Field(
        {},
        description="Settings of the Spark session, such as spark.sql.shuffle.partitions; with Spark Connect, those "
        "that begin with spark.sql.",
    )
    sources: dict[Identifier, Source] = Field(description="Inputs by the name that SQL uses.")
    steps: tuple[Step, ...] = Field((), description="Views, in order.")
    sinks: tuple[QuerySink, ...] = Field(description="Outputs, at least one.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        faults = []
        if not self.sources or not self.sinks:
            faults.append("sources, sinks: must have at least one of each")
        letters = [source.dead_letters for source in self.sources.values() if source.dead_letters is not None]
        views = [*self.sources, *letters, *(step.name for step in self.steps)]
        faults += _named_twice("source or step", views)
        faults += _named_twice("query", [sink.query for sink in self.sinks])
        faults += _named_twice("path", [sink.path for sink in self.sinks if sink.path is not None])
        faults += [
            f"sinks: from={sink.source}: must be one of {', '.join(views)}"
            for sink in self.sinks
            if sink.source not in views
        ]
        if faults:
            raise ConfigurationError("; ".join(faults))
        return self


def load_pipeline(path: Path) -> Pipeline:
    """Return the pipeline of a TOML file; raises ConfigurationError with all errors."""
    document = read_document(path)
    try:
        return Pipeline.model_validate(document)
    except ValidationError as error:
        raise ConfigurationError("; ".join(faults_of(path, error))) from None


def read_document(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file; raises ConfigurationError if it is not a readable, regular file of TOML."""
    text = read_text_file(path, str(path))
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: must be TOML: {error}") from None


def faults_of(path: Path, error: ValidationError) -> list[str]:
    """Return a text for each validation error, with `path` and the key in the file."""
    faults = []
    for fault in error.errors(include_url=False):
        key = ".".join(str(part) for part in fault["loc"])
        cause = allowed(fault)
        if cause.startswith("must ") and isinstance(fault["input"], str | int | float):
            cause = f"{fault['input']!r}: {cause}"
        faults.append(f"{path}: {key}: {cause}" if key else f"{path}: {cause}")
    return faults


def _named_twice(kind: str, names: list[str]) -> list[str]:
    return [
        f"{kind} {name}: must be unique, is given {count} times"
        for name, count in Counter(names).items()
        if count > 1
    ]
