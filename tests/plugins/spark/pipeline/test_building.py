"""Pipelines in the session of the tests: SQL, watermarks, and all kinds of sources and sinks."""

import json
import time

import pyspark
import pytest
from pyspark_aeron.pipeline.building import build
from pyspark_aeron.pipeline.checking import check_file
from pyspark_aeron.pipeline.definition import QuerySink, load_pipeline
from pyspark_aeron.pipeline.lakehouses import check_merges

from aeron_core import connect
from aeron_core.archive.server.conversion import convert
from aeron_core.client.publications.offerer import Offerer
from aeron_core.errors import ConfigurationError
from aeron_core.recording import Archive

TIMEOUT_S = 120
LOCAL_ADDRESS_TYPE_ID = 14


@pytest.fixture
def start(spark, tmp_path):
    """Return a function that starts the queries of a pipeline file; they are stopped after the test."""
    started = []

    def start(text):
        file = tmp_path / "pipeline.toml"
        file.write_text(text)
        assert check_file(file) == []
        queries = build(load_pipeline(file), spark).start()
        started.extend(queries)
        return queries

    yield start
    for query in started:
        query.stop()


@pytest.fixture
def run(start):
    """Return a function that runs a pipeline over the existing data and returns its queries by name."""

    def run(text):
        queries = start(text)
        for query in queries:
            assert query.awaitTermination(TIMEOUT_S)
            assert query.exception() is None
        return {query.name: query for query in queries}

    return run


def test_late_events_count_only_within_the_watermark(run, spark, written, tmp_path):
    pipeline = f"""
name = "minutes"
checkpoint = "{tmp_path}/checkpoint"
trigger = "available-now"

[sources.events]
archive = "{written.store.folder}"
decode = "json"
decode_options = {{ schema = "at timestamp" }}
watermark = {{ column = "at", delay = "1 minute" }}

[[steps]]
name = "per_minute"
sql = "SELECT window.start AS minute, count(*) AS events FROM events GROUP BY window(at, '1 minute')"

[[sinks]]
from = "per_minute"
path = "{tmp_path}/minutes"
"""
    dropped = 0
    for times in (
        ["12:00:10", "12:00:50", "12:03:00"],
        ["12:00:30", "12:02:30", "12:10:00"],  # late by more than a minute, late by less, and on time
    ):
        written.append(*[json.dumps({"at": f"2026-01-31T{at}Z"}).encode() for at in times])
        query = run(pipeline)["per_minute"]
        dropped += sum(
            state["numRowsDroppedByWatermark"]
            for progress in query.recentProgress
            for state in progress["stateOperators"]
        )

    rows = spark.read.parquet(f"{tmp_path}/minutes").selectExpr("date_format(minute, 'HH:mm')", "events")
    # Spark 4.1 runs one batch for `available-now`, and none after it in which the watermark has advanced.
    has_one_batch = pyspark.__version__.startswith("4.1.")
    expected = [("12:00", 3)] if has_one_batch else [("12:00", 2), ("12:02", 1), ("12:03", 1)]
    assert sorted(map(tuple, rows.collect())) == expected
    assert dropped == (0 if has_one_batch else 1)


def test_one_source_feeds_a_database_a_recording_and_a_channel(run, spark, written, driver, tmp_path):
    # By default Derby writes its log into the working directory.
    spark._jvm.java.lang.System.setProperty("derby.stream.error.file", str(tmp_path / "derby.log"))
    url = f"jdbc:derby:{tmp_path}/database;create=true"
    pipeline = f"""
name = "sinks"
checkpoint = "{tmp_path}/checkpoint"
trigger = "available-now"

[sources.log]
archive = "{written.store.folder}"

[[steps]]
name = "messages"
sql = "SELECT payload FROM log"

[[steps]]
name = "lines"
sql = "SELECT position, CAST(payload AS STRING) AS text FROM log"

[[sinks]]
from = "lines"
format = "jdbc"
options = {{ url = "{url}", dbtable = "log_lines" }}

[[sinks]]
from = "messages"
name = "copy"
format = "aeron"
path = "{tmp_path}/copy"

[[sinks]]
from = "messages"
name = "sent"
format = "aeron"
options = {{ channel = "aeron:ipc", streamId = 9, aeronDir = "{driver.aeron_dir}" }}
"""
    received = []

    with connect(driver.aeron_dir) as aeron, aeron.add_subscription("aeron:ipc", 9) as subscription:
        for payload in (b"first", b"second"):  # the second run resumes after the first
            written.append(payload)
            run(pipeline)
        while subscription.poll(lambda buffer, header: received.append(bytes(buffer)), 10):
            pass

    table = spark.read.format("jdbc").options(url=url, dbtable="log_lines").load()
    assert sorted(map(tuple, table.collect())) == [(64, "first"), (128, "second")]
    copied = spark.read.format("aeron").load(f"{tmp_path}/copy").selectExpr("CAST(payload AS STRING)")
    assert sorted(row[0] for row in copied.collect()) == ["first", "second"]
    assert received == [b"first", b"second"]


@pytest.mark.parametrize("option", ["consumerName", "ConsumerName", "consumername"])
def test_a_consumer_name_in_any_case_replaces_that_of_the_pipeline(run, written, tmp_path, option):
    written.append(b"first")

    run(f"""
name = "names"
checkpoint = "{tmp_path}/checkpoint"
trigger = "available-now"

[sources.log]
archive = "{written.store.folder}"
options = {{ {option} = "billing" }}

[[sinks]]
from = "log"
format = "noop"
""")

    assert [path.name for path in (written.store.folder / "consumers").glob("*.json")] == ["billing.json"]


def test_each_of_several_queries_over_a_source_has_a_lease_of_its_own(run, spark, written, tmp_path):
    written.append(b"first", b"second message")

    run(f"""
name = "log"
checkpoint = "{tmp_path}/checkpoint"
trigger = "available-now"

[sources.messages]
archive = "{written.store.folder}"

[sources.others]
archive = "{written.store.folder}"

[[steps]]
name = "lengths"
sql = "SELECT length(payload) AS length FROM Messages"

[[sinks]]
from = "messages"
path = "{tmp_path}/messages"

[[sinks]]
from = "lengths"
path = "{tmp_path}/lengths"

[[sinks]]
from = "others"
format = "noop"
""")

    leases = {path.stem for path in (written.store.folder / "consumers").glob("*.json")}
    assert leases == {"log.messages.messages", "log.messages.lengths", "log.others"}
    assert spark.read.parquet(f"{tmp_path}/messages").count() == 2
    assert {row.length for row in spark.read.parquet(f"{tmp_path}/lengths").collect()} == {5, 14}


def test_a_folder_of_aeron_archive_is_read_without_a_lease(run, spark, written, tmp_path):
    written.append(b"first")
    (_,) = convert(Archive.open(written.store.folder), tmp_path / "theirs", lambda _: None)

    run(f"""
name = "names"
checkpoint = "{tmp_path}/checkpoint"
trigger = "available-now"

[sources.log]
archive = "{tmp_path}/theirs"

[[sinks]]
from = "log"
path = "{tmp_path}/out"
""")

    assert [row.payload for row in spark.read.parquet(f"{tmp_path}/out").collect()] == [b"first"]
    assert not (tmp_path / "theirs" / "consumers").exists()


def wait_until(condition, queries):
    deadline_s = time.monotonic() + TIMEOUT_S
    while not (value := condition()):
        for query in queries:
            assert query.exception() is None
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
    return value


def test_live_channels_are_sources(start, spark, driver, tmp_path):
    queries = start(f"""
name = "live"
checkpoint = "{tmp_path}/checkpoint"
trigger = "100 ms"

[sources.network]
archive = "{tmp_path}/network"
decode = "utf8"
options = {{ live = true, channel = "aeron:udp?endpoint=127.0.0.1:0", streamId = 7, aeronDir = "{driver.aeron_dir}" }}

[sources.memory]
archive = "{tmp_path}/memory"
decode = "utf8"
options = {{ live = true, channel = "aeron:ipc", streamId = 7, aeronDir = "{driver.aeron_dir}" }}

[[sinks]]
from = "network"
name = "from_network"
format = "memory"

[[sinks]]
from = "memory"
name = "from_memory"
format = "memory"
""")
    sent = [f"message {index}" for index in range(3000)]

    with connect(driver.aeron_dir) as aeron:

        def bound():
            counters = aeron.counters_reader
            return [record.label for record in counters if record.type_id == LOCAL_ADDRESS_TYPE_ID]

        address = wait_until(bound, queries)[0].split()[-1]
        for channel in (f"aeron:udp?endpoint={address}", "aeron:ipc"):
            with aeron.add_publication(channel, 7) as publication:
                publication.await_connected(TIMEOUT_S)
                offerer = Offerer(publication, TIMEOUT_S)
                for text in sent:
                    offerer.offer(text.encode())
        for table in ("from_network", "from_memory"):
            wait_until(lambda table=table: spark.table(table).count() >= len(sent), queries)

    for table in ("from_network", "from_memory"):
        rows = spark.table(table).orderBy("position").collect()
        assert [row.text for row in rows] == sent


def test_payloads_that_cannot_be_decoded_go_to_a_sink_of_their_own(run, spark, written, tmp_path):
    written.append(b'{"host": "a"}', b"broken")

    run(f"""
name = "hosts"
checkpoint = "{tmp_path}/checkpoint"
trigger = "available-now"

[sources.hosts]
archive = "{written.store.folder}"
decode = "json"
decode_options = {{ schema = "host string" }}
dead_letters = "broken"

[[sinks]]
from = "hosts"
path = "{tmp_path}/hosts"

[[sinks]]
from = "broken"
path = "{tmp_path}/broken"
""")

    hosts = spark.read.parquet(str(tmp_path / "hosts"))
    assert [tuple(row) for row in hosts.select("position", "host").collect()] == [(64, "a")]
    assert "_corrupt" not in hosts.columns
    # Each query reads at its own pace.
    leases = {path.name for path in (written.store.folder / "consumers").glob("*.json")}
    assert leases == {"hosts.hosts.json", "hosts.hosts.broken.json"}
    assert [tuple(row) for row in spark.read.parquet(str(tmp_path / "broken")).collect()] == [
        (0, 128, "not JSON, or not of the schema", b"broken")
    ]


def test_merges_of_several_queries_are_refused_where_their_batches_share_a_session():
    class Session:
        version = "4.1.4"

    class OwnSession:
        version = "4.3.0"

    Session.__module__ = OwnSession.__module__ = "pyspark.sql.connect.session"
    sinks = [
        QuerySink.model_validate(
            {"from": name, "format": "delta", "path": f"/tables/{name}", "mode": "append", "merge_on": ["id"]}
        )
        for name in ("quotes", "orders")
    ]

    with pytest.raises(ConfigurationError, match=r"queries quotes, orders: .* merges batches of one query"):
        check_merges(Session(), sinks)
    check_merges(Session(), sinks[:1])
    check_merges(OwnSession(), sinks)


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_the_jar_of_a_lakehouse_is_named_if_the_session_lacks_it(spark, written, tmp_path, kind):
    file = tmp_path / "pipeline.toml"
    file.write_text(
        f'name = "tables"\ncheckpoint = "{tmp_path}/checkpoint"\n[sources.log]\narchive = "{written.store.folder}"\n'
        f'[[sinks]]\nfrom = "log"\nformat = "{kind}"\npath = "{tmp_path}/table"\n'
    )

    with pytest.raises(
        ConfigurationError, match=f"query log: format {kind}: the session has no jar of it: "
    ) as caught:
        build(load_pipeline(file), spark).start()

    assert f"{kind}-spark" in str(caught.value)
    assert "\n" not in str(caught.value)
