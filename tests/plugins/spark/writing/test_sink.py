"""Writing with Spark: into recordings exactly once, onto channels at least once."""

import os
import pwd
import stat
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark_aeron.writing import publishing, sink
from pyspark_aeron.writing.sink import BatchWriter, StreamWriter
from pyspark_aeron.writing.sink_options import SinkOptions
from pyspark_aeron.writing.staging import Task, stage, staged_columns, staging_folder

from aeron_core import connect
from aeron_core.errors import (
    ClientError,
    ConfigurationError,
    CorruptRecordingError,
    NotConnectedError,
    RecordingError,
)
from aeron_core.recording import Archive

TIMEOUT_S = 60


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def copy(spark, written, out, tmp_path):
    """Return a function that copies the existing data into a recording, by a streaming query with a checkpoint."""

    def run(**options):
        stream = (
            spark.readStream.format("aeron")
            .option("maxBytesPerTrigger", "64k")
            .load(str(written.store.folder))
        )
        writer = (
            stream.select("payload", "reserved")
            .writeStream.format("aeron")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
        )
        for name, value in ({"archive": str(out)} | options).items():
            writer = writer.option(name, value)
        query = writer.start()
        assert query.awaitTermination(TIMEOUT_S)
        return query

    return run


@pytest.fixture
def payloads(spark):
    """Return a function that returns the payloads of an archive in the order of positions."""

    def read(archive):
        frame = spark.read.format("aeron").load(str(archive)).orderBy("recording_id", "position")
        return [bytes(row.payload) for row in frame.select("payload").collect()]

    return read


def test_rows_become_a_recording(spark, out, payloads):
    rows = [(f"message {index}".encode(), index) for index in range(100)]
    frame = spark.createDataFrame(rows, "payload binary, reserved long").coalesce(1)

    frame.write.format("aeron").mode("append").option("channel", "aeron:ipc").option("streamId", 7).save(
        str(out)
    )

    descriptor = Archive.open(out).recording(0).descriptor
    assert payloads(out) == [payload for payload, _ in rows]
    assert not list((out / "staging").iterdir())
    assert (descriptor.channel, descriptor.stream_id, descriptor.stop_position is not None) == (
        "aeron:ipc",
        7,
        True,
    )
    assert [
        row.reserved for row in spark.read.format("aeron").load(str(out)).orderBy("position").collect()
    ] == list(range(100))


def test_the_message_column_can_be_named_value_as_in_kafka(spark, out, payloads):
    spark.range(3).selectExpr("CAST(id AS STRING) AS value").coalesce(1).write.format("aeron").mode(
        "append"
    ).save(str(out))

    assert payloads(out) == [b"0", b"1", b"2"]


def test_a_stream_is_copied_exactly_once_across_restarts(copy, payloads, written, out):
    for _ in range(3):
        written.fill_term(100)
    copy()
    written.fill_term(100)
    copy()

    assert payloads(out) == payloads(written.store.folder)
    assert [recording.recording_id for recording in Archive.open(out).recordings()] == [0]
    assert not list((out / "staging").rglob("*.arrow"))


def test_a_batch_committed_twice_is_written_once(copy, payloads, written, out, tmp_path):
    for _ in range(3):
        written.fill_term(100)
    copy()
    # As after a crash between the sink's commit and Spark's own.
    commits = sorted((tmp_path / "checkpoint/commits").glob("[0-9]*"), key=lambda path: int(path.name))
    commits[-1].unlink()
    copy()

    assert payloads(out) == payloads(written.store.folder)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("id", "columns id: must contain payload or value"),
        ("id AS payload", "column payload bigint: must be binary or string"),
        (
            "CAST(id AS STRING) AS payload, id AS colour",
            "columns colour: would be lost; select payload and reserved",
        ),
        ("CAST(id AS STRING) AS payload, 'x' AS reserved", "column reserved string: must be bigint"),
        ("CAST(NULL AS STRING) AS payload", "column payload is null (number of rows: 2)"),
    ],
)
def test_rows_without_a_message_are_refused(spark, out, query, message):
    from pyspark.errors import PySparkException  # noqa: PLC0415

    frame = spark.range(2).selectExpr(*[part.strip() for part in query.split(",")]).coalesce(1)

    with pytest.raises(PySparkException) as caught:
        frame.write.format("aeron").mode("append").save(str(out))

    assert message in str(caught.value)
    assert not out.exists() or payloads_of(out) == []
    assert not list(out.glob("staging/*"))


def payloads_of(out):
    return Archive.open(out).recordings() if (out / "archive.json").exists() else []


def test_overwrite_is_refused(spark, out):
    from pyspark.errors import PySparkException  # noqa: PLC0415

    with pytest.raises(PySparkException, match="mode overwrite: must be append"):
        spark.range(1).selectExpr("CAST(id AS STRING) AS payload").write.format("aeron").mode(
            "overwrite"
        ).save(str(out))


class Query:
    """The calls of Spark for a query, in one process."""

    def __init__(self, **options):
        self.options = SinkOptions.parse(options)
        self.writer = StreamWriter(self.options)

    def stage(self, batch_id, partition, *payloads):
        rows = pa.RecordBatch.from_arrays([pa.array(payloads, pa.binary())], names=["payload"])
        return stage(self.options, [rows], Task("query-1", batch_id, partition))

    def commit(self, batch_id, *messages):
        self.writer.commit(list(messages), batch_id)


@pytest.fixture
def archived(out):
    return Query(archive=str(out))


def test_a_commit_that_fails_after_writing_is_neither_repeated_nor_undone(
    archived, out, payloads, monkeypatch
):
    def fail(staged):
        raise OSError("the machine is on fire")

    first = archived.stage(0, 0, b"a", b"b")
    with monkeypatch.context() as patch:
        patch.setattr(sink, "discard", fail)
        with pytest.raises(OSError, match="on fire"):
            archived.commit(0, first)
    archived.writer.abort([first], 0)
    archived.commit(0, archived.stage(0, 0, b"a", b"b"))
    archived.commit(1, archived.stage(1, 0, b"c"))

    assert payloads(out) == [b"a", b"b", b"c"]


def test_partitions_are_appended_in_order_without_failed_tasks(archived, out, payloads):
    archived.commit(0, archived.stage(0, 1, b"b"), None, archived.stage(0, 0, b"a"), archived.stage(0, 2))

    assert payloads(out) == [b"a", b"b"]


def test_files_of_dead_tasks_are_deleted_with_a_later_batch(archived, out):
    archived.stage(0, 0, b"never asked for")
    archived.commit(1, archived.stage(1, 0, b"a"))

    assert not list((out / "staging").rglob("*.arrow"))


def test_a_batch_without_rows_creates_no_recording(archived, out):
    archived.commit(0)

    assert not out.exists()


@pytest.fixture
def published(driver):
    """Return functions that create a publishing query, and read the messages of a subscription."""
    with connect(driver.aeron_dir) as aeron, aeron.add_subscription("aeron:ipc", 7) as subscription:

        def make(**options):
            received = []
            query = Query(channel="aeron:ipc", streamid="7", aerondir=str(driver.aeron_dir), **options)

            def read(count=1):
                def take(buffer, header):
                    received.append((bytes(buffer), header.reserved_value, header.session_id))

                # Each job has its own image, which appears a little later.
                deadline_s = time.monotonic() + 10
                while subscription.poll(take, 100) or len(received) < count:
                    assert time.monotonic() < deadline_s, received
                return received

            return query, read

        yield make
    for publication in publishing._publications.values():
        publication.close()
    publishing._publications.clear()
    for client in publishing._clients.values():
        client.close()
    publishing._clients.clear()


def test_rows_are_published_with_batch_and_sequence(published):
    query, read = published()

    query.commit(3, query.stage(3, 1, b"c"), query.stage(3, 0, b"a", b"b"))

    session = publishing.session_id_of("query-1")
    assert read() == [
        (b"a", 3 << 32, session),
        (b"b", (3 << 32) + 1, session),
        (b"c", (3 << 32) + 2, session),
    ]


def test_a_repeated_batch_has_the_same_reserved_values(published):
    query, read = published()

    query.commit(3, query.stage(3, 0, b"a", b"b"))
    query.commit(3, query.stage(3, 0, b"a", b"b"))

    assert read()[:2] == read()[2:]


def test_consecutive_jobs_publish_on_a_channel(published):
    query, read = published()

    for payload in (b"a", b"b"):
        job = BatchWriter(query.options)
        rows = pa.RecordBatch.from_arrays([pa.array([payload], pa.binary())], names=["payload"])
        job.commit([stage(query.options, [rows], Task(job._job, 0, 0))])

    assert sorted(payload for payload, *_ in read(2)) == [b"a", b"b"]


def test_a_query_with_a_large_batch_id_continues(published):
    query, read = published()

    query.commit(2**31 - 1, query.stage(2**31 - 1, 0, b"a"))

    assert read()[0][1] == (2**31 - 1) << 32


def test_another_process_of_the_query_continues_the_same_session(published, driver):
    query, read = published()
    query.commit(3, query.stage(3, 0, b"a"))
    # The state of a process that Spark killed, or reuses.
    before = dict(publishing._publications), dict(publishing._clients)
    publishing._publications.clear()
    publishing._clients.clear()

    query.commit(4, query.stage(4, 0, b"b"))

    session = publishing.session_id_of("query-1")
    assert read() == [(b"a", 3 << 32, session), (b"b", 4 << 32, session)]
    for resource in (*before[0].values(), *before[1].values()):
        resource.close()


def test_a_header_contains_query_batch_partition_and_sequence(published):
    query, read = published(dedupe="header")

    query.commit(3, query.stage(3, 5, b"a"))

    payload, reserved_value, _ = read()[0]
    header = np.frombuffer(payload[:24], "<u8,<u8,<u4,<u4")[0].tolist()
    assert (header, payload[24:], reserved_value) == ((publishing.query_hash("query-1"), 3, 5, 0), b"a", 0)


def test_a_missing_subscriber_is_reported_and_no_row_is_lost(driver):
    query = Query(channel="aeron:ipc", streamid="8", aerondir=str(driver.aeron_dir), connecttimeout="100ms")
    staged = query.stage(0, 0, b"a")

    with pytest.raises(NotConnectedError):
        query.commit(0, staged)

    assert Path(staged.path).exists()


def test_over_udp_a_commit_waits_until_everything_is_sent(driver):
    with (
        connect(driver.aeron_dir) as aeron,
        aeron.add_subscription("aeron:udp?endpoint=127.0.0.1:0", 7) as receiver,
    ):
        query = Query(channel=receiver.resolved_channel(), streamid="7", aerondir=str(driver.aeron_dir))

        query.commit(0, query.stage(0, 0, b"a", b"b"))

        (sent,) = [record.value for record in aeron.counters_reader if record.label.startswith("snd-pos")]
        assert sent == 128


def test_a_subscriber_that_does_not_read_fails_the_commit_and_the_rows_stay(driver):
    channel = "aeron:ipc?term-length=64k"
    with connect(driver.aeron_dir) as aeron, aeron.add_subscription(channel, 9):
        query = Query(channel=channel, streamid="9", aerondir=str(driver.aeron_dir), connecttimeout="300ms")
        staged = query.stage(0, 0, *[bytes(1000)] * 100)

        with pytest.raises(
            ClientError,
            match=r"was back-pressured for 0\.3 s after \d+ messages: check that its subscribers read",
        ):
            query.commit(0, staged)

    assert Path(staged.path).exists()


def test_options_added_by_spark_are_ignored():
    given = {"path": "/a", "checkpointLocation": "/c", "queryName": "copy"}

    assert SinkOptions.parse(given) == SinkOptions.parse({"archive": "/a"})


def test_neither_archive_nor_channel_is_refused():
    with pytest.raises(ConfigurationError, match="neither archive nor channel is set"):
        SinkOptions.parse({})


def test_a_user_without_a_name_can_publish(monkeypatch):
    def no_such_user(_uid):
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", no_such_user)
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)

    folder = staging_folder(SinkOptions(channel="aeron:ipc"), "query")

    assert folder.parts[-2:] == ("staging", "query")


@pytest.fixture
def published_staging(tmp_path, monkeypatch):
    """Return a query that stages in the temporary folder, and that folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return Query(channel="aeron:ipc"), tmp_path / f"aeron-core-{os.getuid()}"


def test_a_task_without_rows_leaves_no_file(archived, out):
    staged = archived.stage(0, 0)

    assert (staged.path, staged.rows) == ("", 0)
    assert list(out.rglob("*.arrow")) == []


def test_staged_files_are_of_this_user_alone(published_staging, archived):
    query, folder = published_staging

    staged = query.stage(0, 0, b"a")
    other = archived.stage(0, 0, b"a")

    path = Path(staged.path)
    assert path.parent == folder / "staging" / "query-1"
    modes = [stat.S_IMODE(entry.stat().st_mode) for entry in (path, *path.parents[:3])]
    assert modes == [0o600, 0o700, 0o700, 0o700]
    private = [Path(other.path), Path(other.path).parent]
    assert [stat.S_IMODE(entry.stat().st_mode) for entry in private] == [0o600, 0o700]


@pytest.mark.parametrize("part", ["", "staging", "staging/query-1"])
def test_a_staging_folder_that_others_can_write_is_made_private(published_staging, part):
    query, folder = published_staging
    (folder / part).mkdir(parents=True)
    for entry in (folder, folder / "staging"):
        if entry.exists():
            entry.chmod(0o700)
    (folder / part).chmod(0o777)

    query.stage(0, 0, b"a")

    assert stat.S_IMODE((folder / part).stat().st_mode) == 0o700


def test_a_staging_folder_of_another_user_is_refused(published_staging, monkeypatch):
    query, _folder = published_staging
    staged = query.stage(0, 0, b"a")
    uid = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: uid + 1)

    with pytest.raises(RecordingError, match=f"belongs to user {uid}.* must belong to user {uid + 1}"):
        query.stage(0, 1, b"b")
    with pytest.raises(RecordingError, match=f"belongs to user {uid}.* must belong to user {uid + 1}"):
        next(staged_columns([staged]))


def test_a_staging_folder_that_is_a_link_is_refused(published_staging, tmp_path):
    query, folder = published_staging
    (tmp_path / "elsewhere").mkdir(0o700)
    folder.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(RecordingError, match="cannot write"):
        query.stage(0, 0, b"a")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_readable_folder_of_an_earlier_version_becomes_private(published_staging):
    query, folder = published_staging
    folder.mkdir(0o755)

    query.stage(0, 0, b"a")

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def overwrite(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def replace_by_a_link(path):
    path.rename(path.with_suffix(".copy"))
    path.symlink_to(path.with_suffix(".copy"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (overwrite, "is not what its task wrote"),
        (lambda path: path.write_bytes(b""), "cannot read"),
        (lambda path: path.unlink(), "cannot read"),
        (lambda path: path.chmod(0o666), "must be a regular file of user"),
        (replace_by_a_link, "cannot read"),
    ],
    ids=["changed", "empty", "missing", "writable", "a link"],
)
def test_a_staged_file_that_its_task_did_not_write_is_not_committed(archived, payloads, out, change, message):
    archived.commit(0, archived.stage(0, 0, b"a"))
    staged = archived.stage(1, 0, b"b")
    change(Path(staged.path))

    with pytest.raises(RecordingError, match=message):
        archived.commit(1, staged)
    archived.commit(1, archived.stage(1, 0, b"c"))

    assert payloads(out) == [b"a", b"c"]


def test_files_with_strange_names_in_a_staging_folder_are_left_alone(archived, out):
    staged = archived.stage(0, 0, b"a")
    strange = Path(staged.path).with_name("x-y-z.arrow")
    strange.touch()

    archived.commit(1, archived.stage(1, 0, b"b"))

    assert strange.exists()
    assert not Path(staged.path).exists()


def test_an_index_that_lost_entries_is_not_continued(archived, out):
    archived.commit(0, archived.stage(0, 0, b"a"))
    (out / "0/0-0.idx").write_bytes(b"")

    with pytest.raises(CorruptRecordingError, match=r"must cover the data up to 64; .*--accept"):
        archived.commit(1, archived.stage(1, 0, b"b"))
