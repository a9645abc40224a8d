"""Broken input fails the query with a remedy; after the repair no row is lost or duplicated."""

import re

import pytest

TIMEOUT_S = 120


@pytest.fixture
def run(spark, written, tmp_path):
    """Return a function that runs a query over the existing data of the archive."""

    def run(format_="parquet", out="out", **options):
        stream = spark.readStream.format("aeron").load(str(written.store.folder))
        writer = stream.select("payload").writeStream.format(format_).options(**options)
        query = (
            writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(tmp_path / out))
        )
        assert query.awaitTermination(TIMEOUT_S)

    return run


def failure(action):
    from pyspark.errors import PySparkException  # noqa: PLC0415

    with pytest.raises(PySparkException) as caught:
        action()
    return str(caught.value)


def truncate(path):
    path.write_bytes(path.read_bytes()[:70])


def corrupt(path):
    data = bytearray(path.read_bytes())
    data[64 + 16] ^= 0xFF  # the stream id of the second frame
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (truncate, "0-0.rec: ends at position 70: must extend to 192"),
        (corrupt, "recording 0 position 64: stream id="),
        (lambda path: path.unlink(), "0-0.rec: is missing"),
    ],
)
def test_a_corrupt_segment_fails_the_query_until_it_is_repaired(
    run, spark, written, tmp_path, damage, message
):
    written.append(b"a", b"b", b"c")
    segment = written.folder / "0-0.rec"
    sound = segment.read_bytes()
    damage(segment)

    assert message in failure(run)

    segment.write_bytes(sound)
    run()
    rows = spark.read.parquet(str(tmp_path / "out")).selectExpr("CAST(payload AS STRING)").collect()
    assert sorted(row[0] for row in rows) == ["a", "b", "c"]


def test_the_checkpoint_of_a_query_of_another_source_is_refused(run, spark, written, tmp_path):
    written.append(b"a")
    other = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
    query = (
        other.writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(once=True)
        .start()
    )
    assert query.awaitTermination(TIMEOUT_S)

    message = failure(run)

    assert "must be one of the format aeron, version 1; use another checkpointLocation" in message


def test_a_folder_with_other_content_is_not_changed(run, written, tmp_path):
    written.append(b"a")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken/letter.txt").touch()

    assert "must be an archive of recordings, or empty; it contains 'letter.txt'" in failure(
        lambda: run("aeron", "taken")
    )
    assert [path.name for path in (tmp_path / "taken").iterdir()] == ["letter.txt"]


def test_an_archive_that_cannot_be_created_is_reported(run, written, tmp_path):
    written.append(b"a")
    (tmp_path / "file").touch()

    message = failure(lambda: run("aeron", "file/archive"))

    assert "file/archive/archive.lock: Not a directory; remove the cause, or choose another folder" in message


def test_a_read_only_folder_is_reported_before_a_row_is_read(run, written):
    written.append(b"a")

    # A folder of the kernel, in which not even root can create files.
    message = failure(lambda: run("aeron", "/sys/recordings"))

    assert re.search(r"/sys/recordings/archive.lock: [\w -]+; let user \d+ write there, or choose", message)


def test_rows_that_cannot_be_staged_are_written_once_they_can(run, spark, written, tmp_path):
    written.append(b"a", b"b")
    (tmp_path / "file").touch()

    message = failure(lambda: run("aeron", staging=str(tmp_path / "file")))
    run("aeron")

    assert "Not a directory: free disk space, permit this user to write there, or set another" in message
    rows = spark.read.format("aeron").load(str(tmp_path / "out")).selectExpr("CAST(payload AS STRING)")
    assert [row[0] for row in rows.collect()] == ["a", "b"]
