"""Decoding of payloads into columns."""

import struct
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyspark_aeron.decoders import dead_letters, decode, decode_sound, find_decoder

from aeron_core.errors import ConfigurationError, PluginError


@pytest.fixture
def payloads(spark):
    def make(*values):
        rows = [(64 * (index + 1), value) for index, value in enumerate(values)]
        return spark.createDataFrame(rows, "position long, payload binary").coalesce(1)

    return make


def test_text(payloads):
    assert decode(payloads("grüß".encode()), "utf8").collect() == [(64, "grüß")]


def test_json_with_a_schema_becomes_columns(payloads):
    frame = decode(
        payloads(b'{"host": "a", "load": 0.5, "x": 1}', b"no json"),
        "json",
        {"schema": "host string, load double"},
    )

    assert frame.columns == ["position", "host", "load", "_corrupt"]
    assert [tuple(row) for row in frame.collect()] == [(64, "a", 0.5, None), (128, None, None, "no json")]


def test_json_without_a_schema_is_a_variant(payloads):
    frame = decode(payloads(b'{"host": {"name": "a"}}', b"{"), "json")

    rows = frame.selectExpr("try_variant_get(value, '$.host.name', 'string') AS name", "_corrupt").collect()
    assert [tuple(row) for row in rows] == [("a", None), (None, "{")]


def test_an_event_of_beats_yields_time_and_message(payloads):
    event = b'{"@timestamp": "2026-01-31T12:00:00.123Z", "message": "started", "host": {"name": "web"}}'

    frame = decode(payloads(event, b"[not"), "lumberjack")
    rows = frame.selectExpr(
        "unix_millis(`@timestamp`)", "message", "try_variant_get(event, '$.host.name', 'string')", "_corrupt"
    ).collect()

    moment = datetime(2026, 1, 31, 12, 0, 0, 123_000, UTC).timestamp() * 1000
    assert [tuple(row) for row in rows] == [
        (round(moment), "started", "web", None),
        (None, None, None, "[not"),
    ]


def arrow_stream(**columns):
    batch = pa.RecordBatch.from_pydict(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def test_arrow_streams_become_rows(payloads):
    frame = decode(
        payloads(arrow_stream(host=["a", "b"], load=[0.5, 1.5]), arrow_stream(host=["c"], load=[2.5])),
        "arrow-ipc",
        {"schema": "host string, load double"},
    )

    assert [tuple(row) for row in frame.collect()] == [
        *[(64, "a", 0.5), (64, "b", 1.5)] * 2,
        *[(128, "c", 2.5)] * 2,
    ]


def test_a_null_payload_has_no_rows_as_an_arrow_stream(payloads):
    frame = decode(payloads(None, arrow_stream(host=["a"]), None), "arrow-ipc", {"schema": "host string"})

    assert [tuple(row) for row in frame.collect()] == [(128, "a")] * 2


@pytest.mark.parametrize(
    ("name", "options", "row"),
    [
        ("utf8", {}, (64, None)),
        ("json", {}, (64, None, None)),
        ("json", {"schema": "host string"}, (64, None, None)),
        ("lumberjack", {}, (64, None, None, None, None)),
    ],
)
def test_a_null_payload_is_decoded_to_nulls(payloads, name, options, row):
    assert [tuple(each) for each in decode(payloads(None), name, options).collect()] == [row]


def test_a_payload_that_is_not_an_arrow_stream_is_reported_with_its_position(payloads):
    from pyspark.errors import PySparkException  # noqa: PLC0415

    frame = decode(payloads(b"no arrow"), "arrow-ipc", {"schema": "host string"})

    with pytest.raises(PySparkException, match="payload at position=64: must be an Arrow IPC stream"):
        frame.collect()


@pytest.mark.parametrize(
    ("found", "other"),
    [
        (struct.pack("<3i", 0, 3, 7), struct.pack("<3i", 0, 2**21, 2**22)),
        (b"host", b"ho\xfft"),
    ],
    ids=["offsets beyond the data", "a name that is not UTF-8"],
)
def test_an_arrow_stream_that_is_damaged_is_reported(payloads, found, other):
    damaged = arrow_stream(host=["abc", "defg"]).replace(found, other)

    letters = dead_letters(payloads(damaged), "arrow-ipc", {"schema": "host string"})

    ((position, reason, payload),) = letters.collect()
    assert (position, payload) == (64, damaged)
    assert "must be an Arrow IPC stream" in reason


def test_arrow_streams_can_have_extra_columns_another_order_and_smaller_types(payloads):
    stream = arrow_stream(load=pa.array([1], pa.int32()), x=["y"], host=pa.array(["a"], pa.large_string()))

    frame = decode(payloads(stream), "arrow-ipc", {"schema": "host string, load double"})

    assert [tuple(row) for row in frame.collect()] == [(64, "a", 1.0)] * 2


@pytest.mark.parametrize("columns", [{"hst": ["a"]}, {"host": [b"\xff"]}])
def test_arrow_streams_without_a_column_or_with_another_type_are_reported(payloads, columns):
    from pyspark.errors import PySparkException  # noqa: PLC0415

    frame = decode(payloads(arrow_stream(**columns)), "arrow-ipc", {"schema": "host string"})

    with pytest.raises(
        PySparkException,
        match=r"payload at position=64: has the columns .*: must have columns that can be cast to host",
    ):
        frame.collect()


@pytest.mark.parametrize(
    ("name", "options", "sound", "reason"),
    [
        ("json", {"schema": "host string"}, b'{"host": "a"}', "not JSON, or not of the schema"),
        ("lumberjack", {}, b"{}", "not JSON"),
        (
            "arrow-ipc",
            {"schema": "host string"},
            arrow_stream(host=["a"]),
            "payload: must be an Arrow IPC stream",
        ),
    ],
)
def test_payloads_are_decoded_or_dead_letters(payloads, name, options, sound, reason):
    frame = payloads(b"broken", sound, None)

    (letter,) = dead_letters(frame, name, options).collect()
    positions = {row["position"] for row in decode_sound(frame, name, options).collect()}

    assert (letter["position"], bytes(letter["payload"])) == (64, b"broken")
    assert letter["reason"].startswith(reason)
    assert positions == ({128} if name == "arrow-ipc" else {128, 192})


def test_a_decoder_that_finds_nothing_corrupt_has_no_dead_letters(payloads):
    with pytest.raises(
        ConfigurationError, match="decoder utf8: it finds no payload corrupt: remove dead_letters"
    ):
        dead_letters(payloads(b""), "utf8")


def test_the_jar_of_avro_is_named_if_it_is_missing(payloads, tmp_path):
    schema = tmp_path / "quote.avsc"
    schema.write_text('{"type": "record", "name": "Quote", "fields": [{"name": "size", "type": "long"}]}')

    with pytest.raises(ConfigurationError, match=r"no jar of Avro: .*org\.apache\.spark:spark-avro_2\.13:"):
        decode(payloads(b""), "avro", {"schema": str(schema)}).collect()


def test_an_unknown_decoder_is_refused_with_the_installed_ones():
    with pytest.raises(
        PluginError,
        match="no decoder 'xml'; installed: arrow-ipc, avro, json, lumberjack, protobuf, raw, sbe, utf8",
    ):
        find_decoder("xml")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("arrow-ipc", {}, "decoder arrow-ipc: option schema: must be given"),
        ("arrow-ipc", {"schema": "string"}, "decoder arrow-ipc: schema='string': must name columns"),
        ("json", {"colour": "red"}, "decoder json: unknown option colour: must be schema"),
        ("json", {"Colour": "red"}, "decoder json: unknown option Colour: must be schema"),
        ("arrow-ipc", {"schema": "a int", "corrupt": "x"}, "corrupt='x': must be fail or skip"),
        (
            "avro",
            {"schema": "/nowhere"},
            "decoder avro: schema /nowhere: must be a file with a record of Avro",
        ),
        ("sbe", {}, "decoder sbe: option schema: must be given, such as schemas/quotes.xml"),
        ("raw", {"x": "1"}, "decoder raw: unknown option x: this decoder takes no options"),
    ],
)
def test_wrong_options_are_refused(payloads, name, options, message):
    with pytest.raises(ConfigurationError, match=message):
        decode(payloads(b""), name, options)


def test_names_of_options_are_compared_without_regard_to_case(payloads):
    frame = decode(payloads(b'{"host": "a"}'), "json", {"Schema": "host string"})

    assert [tuple(row) for row in frame.collect()] == [(64, "a", None)]
