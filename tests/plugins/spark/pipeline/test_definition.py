"""Pipeline files, without Spark."""

import json

import pytest
from pyspark_aeron.pipeline.checking import check_file, check_pipeline
from pyspark_aeron.pipeline.definition import check_master, load_pipeline

from aeron_core.cli.main import run
from aeron_core.errors import ConfigurationError
from aeron_core.recording import Archive

WHOLE = """
name = "packages"
checkpoint = "TABLES/checkpoints"
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
path = "TABLES/packages"

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


def test_a_file_defines_sources_steps_and_sinks(write):
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
        ('name = "packages"', "", "name: must be given"),
        ('name = "packages"', 'name = "a b"', "name: 'a b': must match ^"),
        ('checkpoint = "TABLES/checkpoints"', "", "checkpoint: must be given"),
        (
            'trigger = "2 seconds"',
            'trigger = "now"',
            "'now': must be a whole number and a unit, such as 500ms",
        ),
        ('trigger = "2 seconds"', "trigger = 5", "trigger: 5: must be a valid string"),
        ('from = "per_minute"', "from = 5", "from: 5: must be a valid string"),
        ('name = "packages"', 'name = "packages"\nmaster = 1', "master: 1: must be a valid string"),
        ('archive = "ARCHIVE"', "", "sources.log: archive: must be given for the format aeron"),
        (
            'decode = "utf8"',
            'decoder = "utf8"',
            "sources.log.decoder: unknown key: correct its name, or remove it",
        ),
        (
            'delay = "1 minute"',
            'delay = "soon"',
            "sources.log.watermark.delay: 'soon': must be a whole number and a unit",
        ),
        ("[sources.log]", "[sources.my-log]", "'my-log': must be an SQL identifier"),
        ('from = "per_minute"', 'from = "per_hour"', "from=per_hour: must be one of log, per_minute"),
        ('name = "copy"', 'name = "per_minute"', "query per_minute: must be unique, is given 2 times"),
        ('name = "per_minute"', 'name = "log"', "source or step log: must be unique, is given 2 times"),
        ('path = "TABLES/packages"', "", "query per_minute: path: must be given for parquet"),
        (
            'path = "TABLES/packages"',
            'path = "p"\nmode = "update"',
            "mode update: must be append for parquet",
        ),
        ('format = "noop"', 'format = "jdbc"', "query copy: options: dbtable must be given for jdbc"),
        (
            'name = "packages"',
            'name = "packages"\nmaster = "spark:/h"',
            "master: 'spark:/h': must be local[*]",
        ),
        (
            "failOnDataLoss = false",
            'MaxBytesPerTrigger = "2m", maxbytespertrigger = "3m"',
            "sources.log.options: maxBytesPerTrigger and MaxBytesPerTrigger and maxbytespertrigger: must be given once",
        ),
        ("[[steps]]", "[[steps]", "must be TOML"),
    ],
)
def test_errors_in_a_file_are_reported_with_their_path(write, old, new, message):
    assert old in WHOLE

    with pytest.raises(ConfigurationError) as caught:
        load_pipeline(write(WHOLE.replace(old, new, 1)))

    assert message in str(caught.value)
    assert "pipeline.toml" in str(caught.value)


def test_a_missing_file_is_reported(tmp_path):
    with pytest.raises(ConfigurationError, match=r"must be a readable file of UTF-8 text: .*No such file"):
        load_pipeline(tmp_path / "none.toml")


@pytest.fixture
def whole(written, tmp_path):
    return WHOLE.replace("ARCHIVE", str(written.store.folder)).replace("TABLES", str(tmp_path))


def test_a_check_covers_archives_decoders_and_options(write, whole):
    assert check_pipeline(load_pipeline(write(whole))) == []
    assert check_pipeline(load_pipeline(write(WHOLE)))[0].startswith("source log: ")
    problems = check_pipeline(
        load_pipeline(write(whole.replace('"utf8"', '"xml"').replace("maxBytes", "maxByte")))
    )
    assert problems[0] == "source log: unknown option maxBytePerTrigger: did you mean maxBytesPerTrigger"
    assert problems[1].startswith("source log: no decoder 'xml'; installed: ")


def test_a_check_reports_all_errors_at_once(write, whole):
    broken = (
        whole.replace('name = "packages"', 'name = "a b"')
        .replace('trigger = "2 seconds"', 'trigger = "now"')
        .replace('maxBytesPerTrigger = "1m"', 'maxBytePerTrigger = "1m", batchRows = "0", assemble = "x"')
        .replace('decode = "utf8"', 'decode = "xml"')
        .replace('format = "noop"', 'format = "aeron"\noptions = { dedupe = "never" }\ncolour = "red"')
        .replace('path = "', 'path = "/dev/null/', 1)
    )

    problems = check_file(write(broken))

    for key in ("name: ", "trigger: ", "sinks.1.colour: "):
        assert sum(key in problem for problem in problems) == 1, problems
    (options,) = (problem for problem in problems if problem.startswith("source log: unknown"))
    assert options.count("; option ") == 2
    assert [problem[:30] for problem in problems if "xml" in problem] == ["source log: no decoder 'xml'; "]
    (folder,) = (problem for problem in problems if "/dev/null" in problem)
    assert folder.endswith("/dev/null must be a folder")


def test_names_and_references_are_all_checked(write, whole):
    broken = whole.replace('from = "per_minute"', 'from = "per_hour"').replace('from = "log"', 'from = "lag"')

    (problem,) = check_file(write(broken))

    assert "from=per_hour: must be one of" in problem
    assert "from=lag: must be one of" in problem


def live(whole, *, sinks="log"):
    return whole.replace(
        'options = { maxBytesPerTrigger = "1m", failOnDataLoss = false }',
        'options = { live = true, channel = "aeron:ipc", streamId = 7 }',
    ).replace('from = "log"', f'from = "{sinks}"')


def test_a_live_source_needs_no_archive_yet_and_feeds_one_query(write, whole, tmp_path):
    none = live(whole).replace('archive = "', f'archive = "{tmp_path}/none').replace("aeron:ipc", "ipc")
    one = live(whole).partition('[[sinks]]\nfrom = "log"')[0]

    assert check_file(write(one)) == []
    problems = check_file(write(none))
    assert problems[0].startswith("source log: ")
    assert "invalid URI scheme or transport: ipc" in problems[0]
    assert problems[1].startswith("source log: live: must feed one query, not per_minute, copy: ")


@pytest.mark.parametrize("option", ["archive", "ARCHIVE", "Path"])
def test_an_archive_may_be_given_as_an_option_in_any_case(write, whole, option):
    text = whole.replace('archive = "', 'archive_ = "').replace("options = {", "options = { ARCHIVE")
    key, _, archive = text[text.index("archive_ = ") :].partition("\n")[0].partition(" = ")
    text = text.replace(f"{key} = {archive}\n", "").replace("ARCHIVE", f"{option} = {archive},")

    pipeline = load_pipeline(write(text))

    assert pipeline.sources["log"].archive_uri == archive.strip('"')
    assert check_pipeline(pipeline) == []


@pytest.mark.parametrize("option", ["Live = true", 'LIVE = "True"', "live = 1"])
def test_a_live_source_feeds_one_query_however_its_option_is_written(write, whole, option):
    (problem,) = check_file(write(live(whole).replace("live = true", option)))

    assert problem.startswith("source log: live: must feed one query, not per_minute, copy: ")


def test_folders_of_a_server_are_not_checked_locally(write, whole):
    elsewhere = WHOLE.replace("ARCHIVE", "/nowhere").replace("TABLES", "/dev/null")
    on_server = 'master = "sc://host"\n' + elsewhere

    assert check_file(write(on_server)) == []
    assert len(check_file(write(elsewhere))) == 3


def test_missing_parts_of_delta_are_reported_with_a_remedy(write, whole):
    delta = whole.replace('format = "noop"', 'format = "delta"\npath = "d"')
    settings = """
"spark.jars" = "delta-spark.jar", "spark.sql.extensions" = "io.delta.sql.DeltaSparkSessionExtension",
"spark.sql.catalog.spark_catalog" = "org.apache.spark.sql.delta.catalog.DeltaCatalog", """.replace("\n", "")

    problems = check_file(write(delta))

    assert "format delta: it is not installed: settings must name a jar of it" in problems[0]
    assert "io.delta:delta-spark_4." in problems[0]
    assert len(problems) == 3
    assert check_file(write(delta.replace("settings = {", "settings = {" + settings))) == []


def test_missing_parts_of_iceberg_are_reported_with_a_remedy(write, whole):
    problems = check_file(write(whole.replace('format = "noop"', 'format = "iceberg"\ntable = "lake.copy"')))

    assert "org.apache.iceberg:iceberg-spark-runtime-4." in problems[0]
    assert problems[1].startswith(
        'query copy: table lake.copy: settings must have "spark.sql.catalog.lake" = '
    )
    assert len(problems) == 2


@pytest.mark.parametrize(
    ("sink", "message"),
    [
        (
            'format = "noop"\nmerge_on = ["a"]',
            "merge_on: must be given for delta and iceberg only, not for noop",
        ),
        ('format = "delta"', "path, table: exactly one must be given for delta"),
        ('format = "delta"\npath = "d"\ntable = "t"', "path, table: exactly one must be given for delta"),
        ('format = "delta"\npath = "d"\nmerge_order = "a"', "merge_order=a: must be given with merge_on"),
        (
            'format = "iceberg"\ntable = "t"\nmode = "update"',
            "mode update: must be append or complete for iceberg",
        ),
        (
            'format = "delta"\npath = "d"\nmerge_on = ["a"]\nmode = "complete"',
            "mode complete: must be append or update for delta with merge_on",
        ),
        (
            'format = "delta"\npath = "d"\nmerge_on = ["a"]\noptions = { x = "1" }',
            "options: x: must not be given with merge_on",
        ),
    ],
)
def test_keys_of_lakehouses_that_do_not_fit_are_refused(write, sink, message):
    with pytest.raises(ConfigurationError, match=message):
        load_pipeline(write(WHOLE.replace('format = "noop"', sink)))


@pytest.mark.parametrize("text", ["", "spark:/h", "local[", "a" * 5000])
def test_a_text_that_is_no_master_of_spark_is_refused(text):
    with pytest.raises(ValueError, match="must be local"):
        check_master(text)


@pytest.mark.parametrize("text", ["local[*]", "local[2]", "spark://host:7077", "sc://host:15002", "yarn"])
def test_a_master_of_spark_is_accepted(text):
    assert check_master(text) == text


def test_a_check_is_shown_as_json(write, tmp_path, capfd):
    Archive.create(tmp_path / "records")
    text = WHOLE.replace("ARCHIVE", str(tmp_path / "records")).replace("TABLES", str(tmp_path))
    path = write(text)

    code, found = run(["pipeline", "check", str(path), "--json"]), json.loads(capfd.readouterr().out)

    assert code == 0
    assert found == {
        "file": str(path),
        "pipeline": "packages",
        "sources": ["log"],
        "queries": ["per_minute", "copy"],
        "problems": [],
    }


def test_the_problems_of_a_check_are_shown_as_json(write, capfd):
    path = write(WHOLE.replace('from = "log"', 'from = "lag"'))

    code, shown = run(["pipeline", "check", str(path), "--json"]), capfd.readouterr()

    found = json.loads(shown.out)
    assert code == 2
    assert (found["pipeline"], found["queries"]) == (None, [])
    assert [f"aeron-core: error: {problem}" for problem in found["problems"]] == shown.err.splitlines()
    assert any("lag" in problem for problem in found["problems"])
