"""The sink for Spark's Java: what differs from the one in Python, which the tests of the others run with."""

import json
import os
import random
import stat
import subprocess
import sys
import time

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from sink_query import Query

from aeron_core import connect
from aeron_core.recording import Archive

LONG = 2_000_000  # bytes, longer than a block of a staged file


@pytest.fixture(autouse=True)
def jvm(spark, has_jvm_reader):
    """Return the Java machine of the session."""
    if not has_jvm_reader:
        pytest.skip("needs javac: on Debian, apt-get install default-jdk-headless")
    return spark._jvm


@pytest.fixture
def save(out):
    """Return a function that writes a frame into the archive `out`, or with other options."""

    def run(frame, **options):
        frame.write.format("aeron-jvm").mode("append").options(**({"path": str(out)} | options)).save()

    return run


def test_rows_of_all_lengths_and_partitions_are_recorded_in_order(spark, save, out, payloads):
    lengths = random.Random(1).choices([0, 1, 7, 8, 100, 9000], k=60_000)
    rows = [(os.urandom(length),) for length in [*lengths, LONG, 3, LONG]]

    save(spark.createDataFrame(rows, "payload binary").repartition(1).sortWithinPartitions("payload"))
    save(spark.createDataFrame(rows[:100], "payload binary"))

    found = payloads(out)
    assert found[: len(rows)] == sorted(payload for (payload,) in rows)
    assert found[len(rows) :] == [payload for (payload,) in rows[:100]]
    assert not list((out / "staging").iterdir())


@pytest.mark.parametrize("type_", ["int", "long"])
def test_reserved_values_of_both_types_are_recorded_and_null_is_zero(spark, save, out, type_):
    rows = [("a", 5), ("b", None), ("é", -7)]

    save(spark.createDataFrame(rows, f"value string, reserved {type_}").coalesce(1))

    found = spark.read.format("aeron").load(str(out)).orderBy("position").collect()
    assert [(bytes(row.payload).decode(), row.reserved) for row in found] == [("a", 5), ("b", 0), ("é", -7)]


def test_a_table_takes_rows_by_sql(spark, out, payloads):
    spark.sql(f"CREATE TABLE messages_of_java (payload STRING) USING `aeron-jvm` OPTIONS (archive '{out}')")
    try:
        spark.sql("INSERT INTO messages_of_java VALUES ('a')")
    finally:
        spark.sql("DROP TABLE messages_of_java")

    assert payloads(out) == [b"a"]


def test_rows_are_published_with_batch_and_sequence(spark, save, driver):
    options = {"channel": "aeron:ipc", "streamId": "7", "aeronDir": str(driver.aeron_dir)}
    received = []
    with connect(driver.aeron_dir) as aeron, aeron.add_subscription("aeron:ipc", 7) as subscription:
        frame = spark.range(100, numPartitions=1).selectExpr("CAST(id AS STRING) AS payload")
        frame.write.format("aeron-jvm").mode("append").options(**options).save()

        # Each job has its own image, which appears a little later.
        deadline_s = time.monotonic() + 60
        while len(received) < 100:
            subscription.poll(
                lambda buffer, header: received.append((bytes(buffer), header.reserved_value)), 100
            )
            assert time.monotonic() < deadline_s, received

    assert received == [(str(number).encode(), number) for number in range(100)]


def test_a_task_that_fails_is_repeated_and_its_rows_are_recorded_once(spark, save, out, payloads, tmp_path):
    def fail_once(rows):
        for number, row in enumerate(rows):
            if number == 50 and not (tmp_path / "failed").exists():
                (tmp_path / "failed").touch()
                raise OSError("the first attempt")
            yield row

    frame = spark.createDataFrame(
        spark.range(100, numPartitions=1)
        .selectExpr("CAST(id AS STRING) AS payload")
        .rdd.mapPartitions(fail_once),
        "payload string",
    )

    save(frame)

    assert (tmp_path / "failed").exists()
    assert payloads(out) == [str(number).encode() for number in range(100)]
    assert not list((out / "staging").iterdir())


def test_a_job_that_fails_records_nothing_and_leaves_no_file(spark, save, out):
    frame = spark.range(100, numPartitions=2).selectExpr(
        "IF(id = 70, raise_error('on fire'), CAST(id AS STRING)) AS payload"
    )

    with pytest.raises(PySparkException, match="on fire"):
        save(frame)

    assert Archive.open(out).recordings() == []
    assert not list((out / "staging").glob("*"))


def test_a_message_that_is_too_long_is_an_error_of_one_line(spark, save):
    frame = spark.createDataFrame([(bytes(100_000),)], "payload binary")

    with pytest.raises(PySparkException, match="message of 100000 bytes: must be at most 8192"):
        save(frame, termLength="64k", segmentLength="64k")


def test_a_wrong_option_is_an_error_of_one_line(spark, save):
    with pytest.raises(PySparkException, match="unknown option dedup: did you mean dedupe") as caught:
        save(spark.range(1).selectExpr("'a' AS payload"), dedup="none")
    assert "Traceback" not in str(caught.value)


def test_a_process_that_was_killed_is_replaced(spark, save, out, payloads, processes_of):
    frame = spark.range(1).selectExpr("'a' AS payload")
    save(frame)

    # Java may find it dead, or only once it has sent the request, which another one then gets.
    for pid in processes_of(os.getpid(), "pyspark_aeron.writing.committer"):
        os.kill(pid, 9)
    save(frame)

    assert payloads(out) == [b"a", b"a"]


def test_the_committer_answers_each_request_and_ends_with_its_input():
    requests = b"""no JSON\n{"do": "check", "columns": {"id": "int"}, "options": {}}\n"""
    ended = subprocess.run(
        [sys.executable, "-m", "pyspark_aeron.writing.committer"],
        input=requests,
        capture_output=True,
        check=True,
    )

    broken, refused = ended.stdout.decode().splitlines()
    assert '"error"' in broken
    assert "columns id: must contain payload or value" in refused
    assert '"is_configuration": true' in refused


def test_continuous_processing_is_refused(spark, out, tmp_path):
    rows = spark.readStream.format("rate").load().selectExpr("CAST(value AS STRING) AS payload")
    query = (
        rows.writeStream.format("aeron-jvm")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(continuous="1 second")
        .start(str(out))
    )

    with pytest.raises(PySparkException, match="trigger continuous: must be processingTime or availableNow"):
        query.awaitTermination(60)


def test_columns_of_the_same_name_are_refused(spark, save):
    frame = spark.range(1).selectExpr("'a' AS payload", "1L AS reserved", "2L AS reserved")

    with pytest.raises(PySparkException, match="reserved"):
        save(frame)


#: As the program itself, but idle soon.
SOON_IDLE = "from pyspark_aeron.writing import committer; committer.IDLE_S = 0.1; committer.main()"


def test_a_publication_without_a_further_commit_ends(driver):
    options = {"channel": "aeron:ipc", "streamId": "7", "aeronDir": str(driver.aeron_dir)}
    staged = Query(**{name.lower(): value for name, value in options.items()}).stage(0, 0, b"a")
    file = {"path": staged.path, "rows": 1, "partition": 0, "sha256": staged.sha256}
    request = {
        "do": "commit batch", "options": options, "writer": "query-1", "batch_id": 0, "files": [file]
    }  # fmt: skip
    images = []
    with (
        connect(driver.aeron_dir) as aeron,
        aeron.add_subscription(
            "aeron:ipc", 7, on_unavailable_image=lambda image: images.append(image.position)
        ) as subscription,
        subprocess.Popen(
            [sys.executable, "-c", SOON_IDLE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process,
    ):
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()

        assert process.stdout.readline() == "{}\n"
        deadline_s = time.monotonic() + 60
        while not images:
            subscription.poll(lambda buffer, header: None, 10)
            assert time.monotonic() < deadline_s
        assert process.poll() is None
        process.stdin.close()


@pytest.fixture
def create(jvm, spark):
    """Return a function that creates a private file at a path, by the code of the tasks."""
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    kind = jvm.java.lang.Class.forName("aeron_core.spark.PrivateFile", True, loader)
    method = next(method for method in kind.getDeclaredMethods() if method.getName() == "create")
    method.setAccessible(True)

    def run(path, parts):
        arguments = spark.sparkContext._gateway.new_array(jvm.java.lang.Object, 2)
        arguments[0] = jvm.java.nio.file.Path.of(
            str(path), spark.sparkContext._gateway.new_array(jvm.String, 0)
        )
        arguments[1] = parts
        method.invoke(None, arguments).close()

    return run


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_staged_files_and_their_folders_are_of_this_user_alone(create, tmp_path):
    path = tmp_path / "base/user/staging/query/file"

    create(path, 3)

    assert [mode_of(entry) for entry in (path, *path.parents[:3])] == [0o600, 0o700, 0o700, 0o700]


@pytest.mark.parametrize("part", ["user", "user/staging", "user/staging/query"])
def test_a_folder_that_others_can_write_becomes_private(create, tmp_path, part):
    (tmp_path / part).mkdir(parents=True)
    (tmp_path / part).chmod(0o777)

    create(tmp_path / "user/staging/query/file", 3)

    assert mode_of(tmp_path / part) == 0o700


@pytest.mark.parametrize("part", ["user", "user/staging", "user/staging/query"])
def test_a_folder_that_is_a_link_is_refused(create, tmp_path, part):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / part).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / part).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(Py4JJavaError):
        create(tmp_path / "user/staging/query/file", 3)

    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_file_that_exists_is_not_opened(create, tmp_path):
    create(tmp_path / "query/file", 1)

    with pytest.raises(Py4JJavaError):
        create(tmp_path / "query/file", 1)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a folder to another user")
def test_a_folder_of_another_user_is_refused(create, tmp_path):
    (tmp_path / "query").mkdir()
    os.chown(tmp_path / "query", 12345, -1)

    with pytest.raises(
        Py4JJavaError, match=r"belongs to user 12345: must belong to user .*set another folder"
    ):
        create(tmp_path / "query/file", 1)
