"""Tables of the catalogue, and views, in SQL."""

import pytest


@pytest.fixture
def table(spark, request):
    """Return the name of the test, and drop the table of this name after it."""
    yield request.node.name
    spark.sql(f"DROP TABLE IF EXISTS {request.node.name}")


def test_a_table_of_an_archive_is_described_and_read_with_its_options(spark, written, table):
    written.append(b"a", b"b")
    folder = written.store.folder

    spark.sql(f"CREATE TABLE {table} USING aeron OPTIONS (archive '{folder}')")

    columns = {row.col_name: row.data_type for row in spark.sql(f"DESCRIBE {table}").collect()}
    assert (columns["position"], columns["payload"]) == ("bigint", "binary")
    read = spark.sql(f"SELECT payload FROM {table} WITH (archive = '{folder}') ORDER BY position")
    assert [bytes(row.payload) for row in read.collect()] == [b"a", b"b"]


def test_a_table_with_a_location_has_the_archive_there(spark, written, table):
    spark.sql(f"CREATE TABLE {table} USING aeron LOCATION '{written.store.folder}'")

    assert "payload" in spark.table(table).columns


def test_rows_are_inserted_into_a_table_of_payloads(spark, tmp_path, table):
    folder = tmp_path / "alerts"
    spark.sql(f"CREATE TABLE {table} (payload BINARY) USING aeron OPTIONS (archive '{folder}')")

    spark.sql(f"INSERT INTO {table} WITH (archive = '{folder}') SELECT CAST('fire' AS BINARY) AS payload")

    (row,) = spark.sql(f"SELECT payload FROM {table} WITH (archive = '{folder}')").collect()
    assert bytes(row.payload) == b"fire"


def test_a_query_without_the_options_of_its_table_names_the_remedy(spark, written, table):
    spark.sql(f"CREATE TABLE {table} USING aeron OPTIONS (archive '{written.store.folder}')")

    with pytest.raises(Exception, match=r"FROM events WITH \(archive = "):
        spark.sql(f"SELECT * FROM {table}").collect()


def test_spark_refuses_streaming_tables_outside_of_declarative_pipelines(spark, written, table):
    spark.sql(f"CREATE TABLE {table} USING aeron OPTIONS (archive '{written.store.folder}')")

    with pytest.raises(Exception, match="CREATE_PIPELINE_DATASET_QUERY_EXECUTION"):
        spark.sql(f"CREATE STREAMING TABLE copies AS SELECT * FROM STREAM {table}")


def test_a_batch_written_without_a_mode_names_the_possible_ones(spark, tmp_path):
    frame = spark.sql("SELECT CAST('fire' AS BINARY) AS payload")

    with pytest.raises(Exception, match='use either the "Append" or "Overwrite" mode'):
        frame.write.format("aeron").save(str(tmp_path / "alerts"))
