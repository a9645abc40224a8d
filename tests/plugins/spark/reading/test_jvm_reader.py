"""The reader for Spark's Java: the same rows as the reader in Python, or an error for the same reason."""

import json
import os
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark_aeron.columns import arrow_schema, columns_of
from pyspark_aeron.options import SourceOptions
from pyspark_aeron.reading import range_reader
from pyspark_aeron.reading.planning import split
from pyspark_aeron.reading.range_reader import read_batches
from pyspark_aeron.reading.selection import Selection

from aeron_core.errors import AeronError
from aeron_core.recording.retention.purge import purge_before
from aeron_core.testing.recordings import (
    INITIAL_TERM_ID,
    TERM_LENGTH,
    RecordingUnderTest,
    frame_at,
    padding_at,
)

BEGIN, MIDDLE, END, WHOLE = 0x80, 0x00, 0x40, 0xC0
TWO_SEGMENTS = 4 * TERM_LENGTH
#: Examples of one run. Each is a job of Spark.
EXAMPLES = int(os.environ.get("AERON_CORE_FUZZ_EXAMPLES", "25"))


@pytest.fixture(scope="module")
def java(spark, has_jvm_reader):
    """Return a function that reads an archive by the reader for Java, as a table of Arrow in the order of rows."""
    if not has_jvm_reader:
        pytest.skip("needs javac: on Debian, apt-get install default-jdk-headless")

    def read(folder, columns="*", **options):
        frame = spark.read.format("aeron-jvm").options(**options).load(str(folder)).select(columns)
        return frame.toArrow()

    return read


def python(folder, columns=None, **options):
    """Return the same by the reader in Python, without a worker of Spark."""
    parsed = SourceOptions.parse(
        {"archive": str(folder), **{name.lower(): text for name, text in options.items()}}
    )
    range_reader._archives.clear()  # an archive of an earlier example had the same path
    names = tuple(columns or columns_of(parsed))
    selection = Selection(parsed)
    ranges = selection.ranges(selection.start(), selection.end())
    pieces = split(selection, ranges, parsed.partition_length, parsed.min_partitions)
    batches = [batch for piece in pieces for batch in read_batches(parsed, names, piece)]
    return pa.Table.from_batches(batches, arrow_schema(parsed, names))


def rows_of(table):
    return sorted(
        (tuple(_plain(value) for value in row.values()) for row in table.to_pylist()),
        key=lambda row: (row[0], row[1]),
    )


def _plain(value):
    return sorted(value) if isinstance(value, list) and value and isinstance(value[0], tuple) else value


def assert_same(java, folder, **options):
    expected = rows_of(python(folder, **options))
    assert rows_of(java(folder, **options)) == expected
    return expected


@pytest.fixture
def many(written, second):
    """Return an archive of two recordings with several segments, padding, fragments, and one that was stopped."""
    for _ in range(5):
        written.fill_term(100)
    written.append(b"a", b"", b"ccc")
    begin = written.writer.written_position
    written.append_block(
        frame_at(begin, b"ab", flags=BEGIN, reserved_value=5)
        + frame_at(begin + 64, b"c" * 40, flags=MIDDLE)
        + frame_at(begin + 160, b"d", flags=END)
    )
    second.append(b"x", b"y")
    second.stop()
    return written.store.folder


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"assemble": "fragments"},
        {"includeHeaders": "true"},
        {"kafkaSchema": "true", "includeHeaders": "true"},
        {"verify": "false", "batchRows": "7"},
        {"minPartitions": "40"},
        {"partitionLength": "64k", "channelPattern": "aeron:i.*"},
        {"streamId": "99"},
        {"recordings": "0,1", "startingPosition": json.dumps({"0": TWO_SEGMENTS, "1": -1})},
        {"startingPosition": "2023-11-14T22:13:20.003+00:00", "endingPosition": "2023-11-14 22:13:20.006"},
    ],
    ids=str,
)
def test_rows_are_those_of_the_reader_in_python(java, many, options):
    assert_same(java, many, **options)


def test_partitions_are_those_of_the_reader_in_python(spark, java, many):
    frames = [
        spark.read.format(name).option("minPartitions", 9).load(str(many)) for name in ("aeron", "aeron-jvm")
    ]

    assert frames[0].schema == frames[1].schema
    assert frames[0].rdd.getNumPartitions() == frames[1].rdd.getNumPartitions() >= 9


def test_only_selected_columns_are_built(java, many):
    assert java(many, ["payload", "position"]).column_names == ["payload", "position"]
    assert java(many, ["ts_ns"]).num_rows == java(many, ["recording_id"]).num_rows == 5 * 409 + 6


def test_a_recording_that_begins_late_and_grows_is_read_to_its_end(java, tmp_path):
    start = 3 * TERM_LENGTH + 64
    written = RecordingUnderTest.begin(tmp_path / "archive", start_position=start)
    written.append(b"a")
    assert len(assert_same(java, tmp_path / "archive")) == 1

    written.fill_term(1000)
    written.fill_term(1000)
    written.stop()

    assert len(assert_same(java, tmp_path / "archive")) > 60


def test_a_message_longer_than_a_read_is_complete(java, tmp_path):
    length = 64 * 1024 * 1024
    written = RecordingUnderTest.begin(tmp_path / "archive", term_length=length, segment_length=length)
    size, count = 65504 - 32, 160
    flags = [BEGIN, *[MIDDLE] * (count - 2), END]
    frames = [
        frame_at(
            index * 65504,
            bytes([index]) * size,
            flags=flags[index],
            term_id=INITIAL_TERM_ID,
            term_offset=index * 65504,
        )
        for index in range(count)
    ]
    written.append_block(b"".join(frames))

    (row,) = assert_same(java, tmp_path / "archive")

    assert row[-1] == b"".join(bytes([index]) * size for index in range(count))
    assert_same(java, tmp_path / "archive", verify="false")


def test_a_recording_longer_than_a_read_is_read_in_parts(java, tmp_path):
    written = RecordingUnderTest.begin(tmp_path / "archive", segment_length=64 * TERM_LENGTH)
    for _ in range(100):
        written.fill_term(1000)

    assert len(assert_same(java, tmp_path / "archive")) == 100 * 62


def test_purged_positions_are_an_error_unless_they_are_given_up(java, tmp_path):
    written = RecordingUnderTest.begin(tmp_path / "archive", segment_length=TERM_LENGTH)
    for _ in range(3):
        written.fill_term(1000)
    written.stop()
    purge_before(written.store, 0, 2 * TERM_LENGTH)

    assert len(assert_same(java, tmp_path / "archive")) == 62
    with pytest.raises(PySparkException, match="recording 0 position 0: must be from 131072 to 196608"):
        java(tmp_path / "archive", startingPosition='{"0": 0}')


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_damaged_data_fails_the_query_unless_verify_is_off(java, written):
    for payload in (b"a", b"b", b"c"):
        written.append(payload)
    flip(written.folder / "0-0.rec", 64 + 32)

    with pytest.raises(Exception, match="recording 0 position 64: the frames up to 128 do not have"):
        java(written.store.folder)
    assert len(assert_same(java, written.store.folder, verify="false")) == 3
    assert len(assert_same(java, written.store.folder, startingPosition='{"0": 128}')) == 1


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: os.truncate(folder / "0-0.rec", 70), "ends at position 70: must extend to 192"),
        (lambda folder: (folder / "0-0.rec").unlink(), "0-0.rec: is missing"),
        (lambda folder: flip(folder / "0-0.rec", 64 + 16), "recording 0 position 64: stream id=23: must be"),
        (lambda folder: os.truncate(folder / "0-0.idx", 0), "0-0.idx: is missing or damaged: it must cover"),
        (lambda folder: (folder / "recording.json").write_text("[]"), "must be a JSON object; restore"),
        (
            lambda folder: (folder / "recording.json").open("a").write("x"),
            "recording.json: .*; restore a copy",
        ),
        (lambda folder: (folder / "mark").write_bytes(b"x" * 4096), "must be at least 4096 bytes that begin"),
    ],
    ids=["short", "missing", "frame", "index", "descriptor", "trailing", "mark"],
)
def test_damaged_files_are_an_error_with_a_remedy(java, written, damage, message):
    written.append(b"a", b"b", b"c")
    if message.startswith("0-0.idx"):
        written.stop()
    damage(written.folder)

    with pytest.raises(Exception, match=message):
        java(written.store.folder)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("s3://bucket/archive", "reads local folders only: use format"),
        ("aeron:archive?control-request=aeron:ipc", "cannot reach a running Aeron Archive: use format"),
        ("foreign", "is a folder of Aeron Archive, which the JVM reader cannot read: use format"),
        ("empty", "there is no archive of recordings; `aeron-core record` creates one"),
    ],
)
def test_archives_elsewhere_are_refused_with_the_remedy(java, tmp_path, monkeypatch, place, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign/archive.catalog").touch()

    with pytest.raises(PySparkException, match=message):
        java(place if ":" in place else tmp_path / place)


def test_live_streams_are_refused_with_the_remedy(java, written):
    with pytest.raises(
        PySparkException, match="option live: the JVM reader records no live stream: use format"
    ):
        java(written.store.folder, live="true")


def test_all_wrong_options_are_in_one_line(java, written):
    with pytest.raises(PySparkException) as caught:
        java(
            written.store.folder, batchRows="0", partitionLength="1t", startingPosition="soon", verify="maybe"
        )

    text = str(caught.value)
    assert "\n" not in text
    for part in (
        "option batchRows=0: must be an integer from 1 to 1048576",
        "option partitionLength=1t: must be a number of bytes greater than 0",
        "option startingPosition=soon: must be earliest, latest, a time",
        "option verify=maybe: must be true or false",
    ):
        assert part in text


def test_a_table_keeps_its_options(spark, java, written, request):
    written.append(b"a", b"b")
    name = request.node.name
    spark.sql(f"CREATE TABLE {name} USING `aeron-jvm` OPTIONS (archive '{written.store.folder}')")
    try:
        assert spark.sql(f"SELECT * FROM {name}").count() == 2
        assert spark.sql(f"SELECT * FROM {name} WITH (startingPosition = '{{\"0\": 64}}')").count() == 1
    finally:
        spark.sql(f"DROP TABLE {name}")


@pytest.mark.parametrize("field", ["key", "value"])
def test_a_field_of_the_headers_is_selected_alone(spark, java, written, field):
    written.append(b"a")
    frames = [
        spark.read.format(name).option("kafkaSchema", True).option("includeHeaders", True)
        for name in ("aeron", "aeron-jvm")
    ]

    expected, found = (
        frame.load(str(written.store.folder)).select(f"headers.{field}").toArrow().to_pylist()
        for frame in frames
    )

    assert found == expected


def test_a_table_at_a_location_is_read(spark, java, tmp_path, written, request):
    written.append(b"a", b"b")
    name = request.node.name
    folder = tmp_path / "an archive"
    folder.symlink_to(written.store.folder)
    spark.sql(f"CREATE TABLE {name} USING `aeron-jvm` LOCATION '{folder}'")
    try:
        assert spark.sql(f"SELECT * FROM {name}").count() == 2
    finally:
        spark.sql(f"DROP TABLE {name}")
    assert java(f"file:{folder}").num_rows == java(f"file://{folder}").num_rows == 2


def test_an_option_that_is_none_counts_as_missing(java, written):
    written.append(b"a")

    assert java(written.store.folder, streamId=None).num_rows == 1


def test_checksums_of_an_aeron_archive_are_refused_with_the_remedy(java, written):
    with pytest.raises(
        PySparkException, match="option checksum: the JVM reader reads no Aeron Archives: use f"
    ):
        java(written.store.folder, checksum="crc32")


LENGTHS = st.integers(0, 300) | st.integers(0, 8000)
#: A message of one frame or of fragments, fragments without begin or end, padding up to the end of the term, a flush.
ITEMS = (
    st.tuples(st.just("message"), st.lists(LENGTHS, min_size=1, max_size=4))
    | st.tuples(st.just("fragments"), st.lists(st.sampled_from([BEGIN, MIDDLE, END, WHOLE]), max_size=4))
    | st.just(("padding", None))
    | st.just(("flush", None))
)


class Frames:
    """Frames of generated items, appended to a recording at each flush; none crosses a term."""

    def __init__(self, written):
        self.written = written
        self.position = written.writer.written_position
        self.block = b""

    def add(self, kind, content):
        if kind == "message":
            last = len(content) - 1
            flags = [BEGIN * (at == 0) | END * (at == last) for at in range(last + 1)]
            self.append(list(zip(content, flags, strict=True)))
        elif kind == "fragments":
            self.append([(20, flags) for flags in content])
        elif kind == "padding":
            self.pad()
        else:
            self.flush()

    def append(self, parts):
        if sum(32 + (length + 31) // 32 * 32 for length, _ in parts) > self.left:
            self.pad()
        for length, flags in parts:
            payload = self.position.to_bytes(8, "little") * (length // 8 + 1)
            self._take(frame_at(self.position, payload[:length], flags=flags, reserved_value=length))

    def pad(self):
        if self.left < TERM_LENGTH:
            self._take(padding_at(self.position, self.left))

    @property
    def left(self):
        return TERM_LENGTH - self.position % TERM_LENGTH

    def flush(self):
        if self.block:
            self.written.append_block(self.block)
            self.block = b""

    def _take(self, frame):
        if self.position % TERM_LENGTH == 0:
            self.flush()  # a recorder writes at most to the end of a term
        self.block += frame
        self.position += len(frame)


def generate(folder, items, start, segment_length, is_stopped):
    written = RecordingUnderTest.begin(folder, start_position=start, segment_length=segment_length)
    frames = Frames(written)
    for kind, content in items:
        frames.add(kind, content)
    frames.append([(5, WHOLE)])  # readers read whole messages only
    frames.flush()
    if is_stopped:
        written.stop()
    return written


RECORDINGS = {
    "items": st.lists(ITEMS, max_size=40),
    "start": st.sampled_from([0, 96, TERM_LENGTH, 5 * TERM_LENGTH - 64]),
    "segment_length": st.sampled_from([TERM_LENGTH, 2 * TERM_LENGTH]),
    "is_stopped": st.booleans(),
}
OPTIONS = st.fixed_dictionaries(
    {
        "assemble": st.sampled_from(["messages", "fragments"]),
        "batchRows": st.sampled_from(["1", "3", "32768"]),
        "minPartitions": st.sampled_from(["1", "5"]),
        "verify": st.sampled_from(["true", "false"]),
    }
)
QUICK = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@QUICK
@given(**RECORDINGS, options=OPTIONS)
def test_generated_recordings_have_the_same_rows(java, options, **recording):
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder), **recording)

        assert_same(java, folder, **options)


DAMAGES = st.lists(
    st.tuples(
        st.sampled_from(["rec", "idx", "recording.json", "mark", "archive.json"]),
        st.sampled_from(["flip", "zero", "ones", "cut", "insert"]),
        st.floats(0, 1, exclude_max=True),
    ),
    min_size=1,
    max_size=3,
)


def damage(folder, kind, how, where):
    paths = sorted(path for path in Path(folder).rglob("*") if path.name.endswith(kind))
    if not paths:
        return
    path = paths[int(where * len(paths))]
    data = bytearray(path.read_bytes())
    at = int(where * len(data)) if data else 0
    if how == "cut":
        del data[at:]
    elif how == "insert":
        data[at:at] = b"7"
    elif data:
        data[at] = {"flip": data[at] ^ 1 << at % 8, "zero": 0, "ones": 255}[how]
    path.write_bytes(data)


@QUICK
@given(**RECORDINGS, options=OPTIONS, damages=DAMAGES)
def test_hostile_damage_is_an_error_or_gives_the_same_rows(java, options, damages, **recording):
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder), **recording)
        for each in damages:
            damage(folder, *each)
        expected = rows_or_error(lambda: rows_of(python(folder, **options)))
        found = rows_or_error(lambda: rows_of(java(folder, **options)))
        assert found == expected or (isinstance(found, str) and isinstance(expected, str)), (found, expected)


def rows_or_error(read):
    """Return the rows, or the text of an error that one of the readers documents."""
    try:
        return read()
    except (AeronError, OSError, PySparkException) as error:
        return str(error)
    except Exception as error:
        if "aeron_core.recording." not in str(error):  # the failure of a task
            raise
        return str(error)
