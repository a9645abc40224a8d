"""Pipeline files, without Spark."""

import pytest
from pyspark_aeron.pipeline.checking import check_pipeline
from pyspark_aeron.pipeline.definition import load_pipeline

from aeron_core.errors import ConfigurationError

WHOLE = """
name = "packages"
checkpoint = "/data/checkpoints"
trigger = "2 seconds"
settings = { "spark.sql.shuffle.partitions" = 2 }

[sources.log]
archive = "ARCHIVE"
options = { maxBytesPerTrigger = "1m", failOnDataLoss = false }
decode = "utf8"
watermark = { column = "ts", delay = "1 minute" }

[[steps]]
name = "per_minute"
sql = "SELECT window(ts, '1 minute').start AS minute, count(*) AS events FROM log GROUP BY window(ts, '1 minute')"

[[sinks]]
from = "per_minute"
path = "/data/tables/packages"

[[sinks]]
from = "log"
name = "copy"
format = "noop"
trigger = "available-now"
"""


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "pipeline.toml"
        path.write_text(text)
        return path

    return write


def test_a_file_says_sources_steps_and_sinks(write):
    pipeline = load_pipeline(write(WHOLE))

    assert pipeline.sources["log"].options == {"maxBytesPerTrigger": "1m", "failOnDataLoss": "false"}
    assert pipeline.settings == {"spark.sql.shuffle.partitions": "2"}
    assert [(sink.query, sink.source, sink.format) for sink in pipeline.sinks] == [
        ("per_minute", "per_minute", "parquet"),
        ("copy", "log", "noop"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "packages"', "", "name: Field required"),
        ('name = "packages"', 'name = "a b"', "name: String should match pattern"),
        ('checkpoint = "/data/checkpoints"', "", "checkpoint: Field required"),
        ('trigger = "2 seconds"', 'trigger = "now"', "'now': must be a number and a unit, such as 500 ms"),
        ('archive = "ARCHIVE"', "", "sources.log: archive: must be given for the format aeron"),
        ('decode = "utf8"', 'decoder = "utf8"', "sources.log.decoder: Extra inputs are not permitted"),
        (
            'delay = "1 minute"',
            'delay = "soon"',
            "sources.log.watermark.delay: 'soon': must be a number and a unit",
        ),
        ("[sources.log]", "[sources.my-log]", "'my-log': must be a name that SQL takes"),
        ('from = "per_minute"', 'from = "per_hour"', "from=per_hour: must be one of log, per_minute"),
        ('name = "copy"', 'name = "per_minute"', "query per_minute: must be there once"),
        ('name = "per_minute"', 'name = "log"', "source or step log: must be there once"),
        ('path = "/data/tables/packages"', "", "query per_minute: path: must be given for parquet"),
        ("[[steps]]", "[[steps]", "must be TOML"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_place(write, old, new, message):
    assert old in WHOLE

    with pytest.raises(ConfigurationError) as caught:
        load_pipeline(write(WHOLE.replace(old, new, 1)))

    assert message in str(caught.value)
    assert "pipeline.toml" in str(caught.value)


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(ConfigurationError, match=r"must be readable text: .*No such file"):
        load_pipeline(tmp_path / "none.toml")


def test_a_check_looks_at_archives_decoders_and_options(write, written):
    whole = WHOLE.replace("ARCHIVE", str(written.store.folder))

    assert check_pipeline(load_pipeline(write(whole))) == []
    assert check_pipeline(load_pipeline(write(WHOLE)))[0].startswith("source log: ")
    problems = check_pipeline(
        load_pipeline(write(whole.replace('"utf8"', '"xml"').replace("maxBytes", "maxByte")))
    )
    assert problems[0] == "source log: unknown option maxBytePerTrigger: did you mean maxBytesPerTrigger"
    assert problems[1].startswith("source log: no decoder 'xml'; installed: ")
