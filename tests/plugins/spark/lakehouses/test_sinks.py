"""Pipelines into tables of Delta Lake and Iceberg: creation, merges, schemas, and batches that are repeated."""

import shutil

import pytest

from aeron_core.errors import ConfigurationError, PipelineError

FORMATS = ("delta", "iceberg")


def sink(kind, name, target, more=""):
    return f'[[sinks]]\nfrom = "rows"\nname = "{name}"\nformat = "{kind}"\n{target}\n{more}\n'


@pytest.fixture
def read(spark, tmp_path):
    """Return a function that returns the rows of a table in `tmp_path`, sorted, as tuples."""

    def read(kind, name):
        frame = spark.read.format(kind).load(str(tmp_path / name))
        return sorted(tuple(row) for row in frame.collect())

    return read


def forget_commit(folder):
    """Remove the last commit of a checkpoint, as after a kill between the table's commit and this one."""
    last = max((path for path in (folder / "commits").glob("[0-9]*")), key=lambda path: int(path.name))
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink(missing_ok=True)


@pytest.mark.parametrize("kind", FORMATS)
def test_rows_are_appended_once_even_if_a_batch_is_repeated(run, read, written, tmp_path, kind):
    sinks = sink(kind, "t", f'path = "{tmp_path}/t"', 'partition_by = ["text"]')
    written.append(b"a", b"b")
    run(sinks)
    written.append(b"a")
    run(sinks)
    forget_commit(tmp_path / "checkpoint/t")

    run(sinks)

    assert read(kind, "t") == [(64, "a"), (128, "b"), (192, "a")]
    assert {path.parent.name for path in (tmp_path / "t").rglob("*.parquet")} >= {"text=a", "text=b"}


@pytest.mark.parametrize("kind", FORMATS)
def test_a_merge_keeps_the_last_row_of_a_key_even_if_a_batch_is_repeated(run, read, written, tmp_path, kind):
    sinks = sink(kind, "t", f'path = "{tmp_path}/t"', 'merge_on = ["text"]\nmerge_order = "position"')
    written.append(b"a", b"b", b"a")
    run(sinks)
    written.append(b"c", b"b")
    run(sinks)
    expected = [(192, "a"), (256, "c"), (320, "b")]
    assert read(kind, "t") == expected
    files = len(list((tmp_path / "t").rglob("*.parquet")))
    forget_commit(tmp_path / "checkpoint/t")

    run(sinks)

    assert read(kind, "t") == expected
    assert len(list((tmp_path / "t").rglob("*.parquet"))) == files


def test_tables_of_a_catalog_are_named(run, spark, written):
    written.append(b"a")
    spark.sql("CREATE DATABASE IF NOT EXISTS named")

    run(sink("delta", "d", 'table = "named.d"') + sink("iceberg", "i", 'table = "lake.named.i"'))

    assert [tuple(row) for row in spark.sql("TABLE named.d UNION ALL TABLE lake.named.i").collect()] == [
        (64, "a")
    ] * 2


@pytest.mark.parametrize("kind", FORMATS)
def test_new_columns_are_added_only_with_schema_evolution(run, read, written, tmp_path, kind):
    written.append(b"a")
    target = f'path = "{tmp_path}/t"'
    run(sink(kind, "t", target))
    written.append(b"b")
    more = "SELECT CAST(payload AS STRING) AS text, position, length(payload) AS size FROM log"
    with pytest.raises(ConfigurationError, match=r"size is not in the table: .* schema_evolution = true$"):
        run(sink(kind, "t", target), more)

    run(sink(kind, "t", target, "schema_evolution = true"), more)

    assert read(kind, "t") == [(64, "a", None), (128, "b", 1)]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_table_of_another_schema_is_refused_in_one_line(run, written, tmp_path, kind):
    written.append(b"a")
    run(sink(kind, "t", f'path = "{tmp_path}/t"'))

    with pytest.raises(ConfigurationError) as caught:
        run(
            sink(kind, "t", f'path = "{tmp_path}/t"', "schema_evolution = true"),
            "SELECT CAST(position AS STRING) AS position, CAST(payload AS STRING) AS text FROM log",
        )

    assert "t`: position is bigint there and string here: cast or rename columns in a step" in str(
        caught.value
    )
    assert "\n" not in str(caught.value)


def test_two_rows_of_a_key_in_a_batch_need_an_order(run, written, tmp_path):
    written.append(b"a", b"a")

    with pytest.raises(PipelineError, match="a batch has 2 rows with the key text=a: give merge_order"):
        run(sink("delta", "t", f'path = "{tmp_path}/t"', 'merge_on = ["text"]'))


def test_a_new_checkpoint_appends_again(run, read, written, tmp_path):
    sinks = sink("delta", "t", f'path = "{tmp_path}/t"')
    written.append(b"a")
    run(sinks)
    shutil.rmtree(tmp_path / "checkpoint")

    run(sinks)

    assert read("delta", "t") == [(64, "a")] * 2
