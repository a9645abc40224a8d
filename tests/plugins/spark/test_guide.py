"""The examples of docs/how-to/query-with-spark.md on a recording, with the Spark session of these tests."""

import re
import threading
from pathlib import Path

import pyspark_aeron.session
import pytest
from pyspark_aeron.decoders import decode

import aeron_core
from aeron_core.errors import ConfigurationError
from aeron_core.recording import Archive
from aeron_core.testing.recordings import RecordingUnderTest

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "query-with-spark.md"
CHANNEL = "aeron:udp?endpoint=localhost:20122"


@pytest.fixture
def blocks(tmp_path, driver):
    """Return the examples with paths in a folder and a channel of these tests."""
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    code = [
        re.sub(r'"((recordings|copies)|(checkpoints|tables)/\w+)"', rf'"{tmp_path}/\1"', each)
        for each in code
    ]
    # The processes of Spark do not have the environment of this test.
    directory = f'.option("aeronDir", "{driver.aeron_dir}").option("streamId"'
    return [each.replace(CHANNEL, "aeron:ipc").replace('.option("streamId"', directory) for each in code]


def received(driver, spark, count):
    """Return messages that the queries which run publish."""
    messages = []
    with (
        aeron_core.connect(driver.aeron_dir) as aeron,
        aeron.add_subscription("aeron:ipc", 7) as subscription,
    ):
        worker = threading.Thread(target=run_to_the_end, args=(spark,))
        worker.start()
        while worker.is_alive() or len(messages) < count:
            subscription.poll(lambda buffer, header: messages.append(bytes(buffer)))
        worker.join()
    return messages


def run_to_the_end(spark):
    """Let all queries read what there is, and stop them."""
    for query in spark.streams.active:
        query.processAllAvailable()
        query.stop()


def test_the_examples_of_the_guide_run(spark, blocks, driver, tmp_path, monkeypatch, capfd):
    recording = RecordingUnderTest.begin(
        tmp_path / "recordings", channel="aeron:udp?endpoint=localhost:20121", stream_id=1001
    )
    payloads = [b"%d" % number for number in range(100)]
    for payload in payloads:
        recording.append(payload)
    # A second session in this process would change the settings of the first.
    monkeypatch.setattr(pyspark_aeron.session, "session", lambda: spark)
    names = {}

    exec(blocks[0], names)
    assert names["messages"].count() == 100
    assert names["spark"].read.format("aeron").load(str(tmp_path / "recordings")).count() == 100
    selected = eval(blocks[1], names)
    assert selected.columns == ["position", "payload"]
    assert selected.count() == 100

    listeners = []
    monkeypatch.setattr(type(spark.streams), "addListener", lambda _, listener: listeners.append(listener))
    exec(blocks[3], names)
    assert len(listeners) == 1

    exec(blocks[2], names)
    table = spark.read.parquet(f"{tmp_path}/tables/numbers")
    assert sorted(int(row["text"]) for row in table.collect()) == list(range(100))

    exec(blocks[6], names)
    run_to_the_end(spark)
    assert sum(each.position for each in Archive.open(tmp_path / "copies").recordings()) > 0
    copies = spark.read.format("aeron").load(f"{tmp_path}/copies")
    assert {bytes(row["payload"]) for row in copies.collect()} == set(payloads)

    exec(blocks[7], names)
    assert set(received(driver, spark, 100)) == set(payloads)


def test_the_examples_of_the_reader_for_java_run(spark, has_jvm_reader, blocks, tmp_path, monkeypatch, capfd):
    if not has_jvm_reader:
        pytest.skip("needs javac: on Debian, apt-get install default-jdk-headless")
    RecordingUnderTest.begin(tmp_path / "recordings", stream_id=1001).append(b"a", b"bb")
    monkeypatch.setattr(pyspark_aeron.session, "session", lambda *, jvm_reader: spark)
    names = {"session": pyspark_aeron.session.session}

    exec(blocks[4], names)
    assert "length(payload)" in capfd.readouterr().out

    [statements] = re.findall(
        r"```sql\n(CREATE TABLE recorded.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    )
    create, select = statements.replace("'recordings'", f"'{tmp_path}/recordings'").strip(";\n").split(";\n")
    spark.sql(create)
    try:
        assert [row[1] for row in spark.sql(select).collect()] == [2]
    finally:
        spark.sql("DROP TABLE recorded")


def test_the_decoder_of_the_guide_is_found_by_its_name(spark, blocks, tmp_path, monkeypatch):
    text = PAGE.read_text(encoding="utf-8")
    [points] = re.findall(
        r"```toml\n\[project\.entry-points\.\"(pyspark_aeron\.decoders)\"\]\n(.*?)\n```", text
    )
    info = tmp_path / "reading-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: reading\nVersion: 1.0\n")
    group, (name, target) = points[0], points[1].replace('"', "").split(" = ")
    (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {target}\n")
    [code] = [block for block in blocks if block.startswith("# reading_decoder.py")]
    (tmp_path / "reading_decoder.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    payloads = [(bytearray(b"boiler=71.5"),), (bytearray(b"pump=hot"),), (bytearray(b"roof"),)]
    frame = spark.createDataFrame(payloads, "payload binary")

    rows = decode(frame, name).collect()

    assert [tuple(row) for row in rows] == [("boiler", 71.5), ("pump", None), ("roof", None)]
    assert decode(frame, name, {"separator": "-"}).columns == ["sensor", "celsius"]
    with pytest.raises(ConfigurationError, match="unknown option colour: must be separator"):
        decode(frame, name, {"colour": "red"})
