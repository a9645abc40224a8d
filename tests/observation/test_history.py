"""Histories of counters: what is written is read back, and damage is reported in one line."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from observed import IMAGE, PUBLICATION, heartbeat, records_of, snapshot

from aeron_core.concurrent.error_log import ErrorRecord
from aeron_core.concurrent.loss_report import LossEntry
from aeron_core.errors import ConfigurationError, ProtocolError, StorageError
from aeron_core.observation import (
    CounterHistory,
    CounterHistoryWriter,
    DriverState,
    LogParameters,
    limitations,
    rates_between,
)
from aeron_core.observation import history_writer as module

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

ENDINGS = (".arrows", ".parquet")


def full(at_s):
    """Return a snapshot with everything that a snapshot may have."""
    records = records_of(
        pub_pos=1000 + int(at_s * 500),
        pub_lmt=1000,
        snd_pos=900,
        snd_lmt=900,
        rcv_hwm=900,
        rcv_pos=900,
        sub_pos=0,
    )
    found = snapshot(heartbeat(value=5), *records, at_s=at_s)
    return replace(
        found,
        driver=replace(
            found.driver, aeron_dir=Path("/tmp/\udcff\u00e4"), software="version=1", heartbeat_age_ms=7
        ),
        errors=(ErrorRecord(1, 2, 3, "(11) \u20ac", "1.2.3.4:5"),),
        losses=(LossEntry(1, 64, 2, 3, 7, 1001, "aeron:udp", "1.2.3.4:5"),),
        logs={
            PUBLICATION: LogParameters(65536, 1408, 32768, None, is_connected=True),
            IMAGE: LogParameters(65536, 1408, None, 32768, is_connected=False),
        },
        problems=("no loss report",),
    )


def write(path, *snapshots):
    with CounterHistoryWriter(path) as writer:
        for each in snapshots:
            writer.write(each)
    return path


def read(path):
    return list(CounterHistory(path).snapshots())


def comparable(found):
    # The state and the deadline of a counter are not stored: recorded counters are allocated.
    return replace(
        found, counters=tuple(replace(each, state=1, free_for_reuse_deadline_ms=0) for each in found.counters)
    )


@pytest.mark.parametrize("ending", ENDINGS)
def test_snapshots_are_read_as_they_were_written(tmp_path, ending):
    written = [full(number) for number in range(5)]

    found = read(write(tmp_path / f"history{ending}", *written))

    assert [comparable(each) for each in found] == [comparable(each) for each in written]


@pytest.mark.parametrize("ending", ENDINGS)
def test_rates_and_limits_of_a_history_are_those_of_the_snapshots(tmp_path, ending):
    first, second = full(0), full(2)

    found = read(write(tmp_path / f"history{ending}", first, second))

    assert rates_between(*found) == rates_between(first, second)
    assert limitations(found[1], found[0]) == limitations(second, first)


def test_the_share_of_a_stream_that_was_read_grows_to_all_of_it(tmp_path):
    history = CounterHistory(write(tmp_path / "history.arrows", *(full(number) for number in range(5))))

    shares = [history.share_read for _ in history.snapshots()]

    # The last snapshot is complete only at the end of the file.
    assert len(set(shares)) == 4
    assert shares == sorted(shares)
    assert 0.9 < shares[-1] <= 1
    assert sum(1 for _ in history.snapshots()) == 5
    assert history.share_read == shares[-1]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_history_may_have_snapshots_without_counters_or_none_at_all(tmp_path, ending):
    assert read(write(tmp_path / f"none{ending}")) == []
    assert [each.counters for each in read(write(tmp_path / f"bare{ending}", snapshot()))] == [()]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_label_is_stored_once(tmp_path, ending):
    label_end = f" name={'unique' * 20}"
    path = write(
        tmp_path / f"history{ending}",
        *(snapshot(heartbeat(label_end=label_end), at_s=at) for at in range(100)),
    )

    table = pa.ipc.open_stream(path).read_all() if ending == ".arrows" else parquet.read_table(path)
    assert len(table.column("label").unify_dictionaries().chunk(0).dictionary) == 1
    assert table.num_rows == 200


@pytest.mark.parametrize("ending", ENDINGS)
def test_dictionaries_start_anew_when_they_are_long(tmp_path, ending, monkeypatch):
    monkeypatch.setattr(module, "_DICTIONARY_ENTRIES", 3)
    monkeypatch.setattr(module, "_GROUP_ROWS", 4)
    written = [snapshot(heartbeat(number, label_end=f" name={number}"), at_s=number) for number in range(20)]
    with CounterHistoryWriter(tmp_path / f"history{ending}") as writer:
        for each in written:
            writer.write(each)
            assert all(len(dictionary.values) <= 4 for dictionary in writer._dictionaries.values())
            assert len(writer._columns["time"]) <= 4

    assert [each.clients[number].name for number, each in enumerate(read(writer.path))] == [
        str(number) for number in range(20)
    ]


def test_a_stream_is_readable_up_to_the_last_snapshot_while_it_is_written(tmp_path):
    with CounterHistoryWriter(tmp_path / "history.arrows") as writer:
        with pytest.raises(ProtocolError, match="is empty: wait"):
            read(writer.path)
        for count in range(1, 4):
            writer.write(full(count))
            assert len(read(writer.path)) == count


def test_a_stream_that_was_cut_anywhere_has_its_whole_snapshots(tmp_path):
    path = write(tmp_path / "history.arrows", full(0), full(1))
    data = path.read_bytes()
    schema_length = len(write(tmp_path / "empty.arrows").read_bytes())
    counts = []
    for length in range(schema_length, len(data), 7):
        path.write_bytes(data[:length])
        history = CounterHistory(path)
        counts.append(len(list(history.snapshots())))

    assert counts == sorted(counts)
    assert set(counts) == {0, 1, 2}


def test_a_stream_that_ends_within_a_snapshot_is_cut(tmp_path):
    path = write(tmp_path / "history.arrows", full(0))
    history = CounterHistory(path)
    assert (len(list(history.snapshots())), history.is_cut) == (1, False)

    path.write_bytes(path.read_bytes()[:-100])
    assert (len(list(history.snapshots())), history.is_cut) == (0, True)


def test_a_parquet_file_that_was_not_closed_is_refused_with_the_reason(tmp_path):
    writer = CounterHistoryWriter(tmp_path / "history.parquet")
    writer.write(full(0))
    writer._write_rows()
    writer._file.flush()

    with pytest.raises(ProtocolError, match="has no end: its recorder still runs or was killed"):
        read(writer.path)
    writer.close()
    assert len(read(writer.path)) == 1


@pytest.mark.parametrize("name", ["history.csv", "history", "history.arrow"])
def test_another_ending_is_refused(tmp_path, name):
    with pytest.raises(ConfigurationError, match=r"must end with \.arrows or \.parquet"):
        CounterHistoryWriter(tmp_path / name)
    assert not (tmp_path / name).exists()


def test_an_existing_file_is_not_overwritten(tmp_path):
    path = write(tmp_path / "history.arrows", full(0))

    with pytest.raises(StorageError, match="exists: delete it"):
        CounterHistoryWriter(path)
    assert len(read(path)) == 1


def test_a_missing_folder_and_a_missing_file_are_reported(tmp_path):
    with pytest.raises(StorageError, match="cannot create"):
        CounterHistoryWriter(tmp_path / "none" / "history.arrows")
    with pytest.raises(StorageError, match="cannot open"):
        read(tmp_path / "history.arrows")


@pytest.mark.parametrize("function", [CounterHistory, CounterHistoryWriter])
def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch, function):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)

    with pytest.raises(ConfigurationError, match=r"pip install 'aeron-core\[arrow\]'"):
        function(tmp_path / "history.arrows")
    assert list(tmp_path.iterdir()) == []


def test_close_may_be_called_again(tmp_path):
    writer = CounterHistoryWriter(tmp_path / "history.arrows")
    writer.close()
    writer.close()

    assert list(CounterHistory(tmp_path / "history.arrows").snapshots()) == []


# Hostile files.


def table_of(path, **columns):
    """Write a history with changed columns; return its path."""
    batch = pa.ipc.open_stream(write(path, full(0))).read_next_batch()
    path.unlink()
    arrays = {name: columns.get(name, batch.column(name)) for name in batch.schema.names}
    with pa.ipc.new_stream(path, batch.schema) as writer:
        writer.write_batch(pa.record_batch(list(arrays.values()), schema=batch.schema))
    return path


ROWS = 1 + len(full(0).counters)
TEXTS = pa.dictionary(pa.int32(), pa.utf8())


def texts(value):
    return pa.array([value] * ROWS).dictionary_encode()


# In functions: the first array imports pandas, which a worker that runs other files does not need.
@pytest.mark.parametrize(
    ("columns", "cause"),
    [
        (lambda: {"driver": pa.array(["{}"] * ROWS)}, "must be an object with aeron_dir"),
        (lambda: {"driver": pa.array(["["] * ROWS)}, "damaged"),
        (lambda: {"driver": pa.array([None] * ROWS, pa.utf8())}, "damaged"),
        (lambda: {"driver": pa.array(["[" * 100_000] * ROWS)}, "damaged"),
        (lambda: {"details": texts("[]")}, "must be an object with errors"),
        (lambda: {"details": texts('{"errors":[{}],"losses":[],"logs":{},"problems":[]}')}, "observation_count"),
        (lambda: {"details": texts('{"errors":7,"losses":[],"logs":{},"problems":[]}')}, "damaged"),
        (lambda: {"details": texts('{"errors":[],"losses":[],"logs":[],"problems":[]}')}, "damaged"),
        (lambda: {"details": texts('{"errors":[],"losses":[],"logs":{"x":{}},"problems":[]}')}, "damaged"),
        (lambda: {"counter_id": pa.array([1] * ROWS, pa.int32())}, "does not begin with the row of its driver"),
        (lambda: {"counter_id": pa.array([None] * ROWS, pa.int32())}, "damaged"),
        (lambda: {"time": pa.array([None] * ROWS, pa.timestamp("ns", "UTC"))}, "does not begin"),
        (lambda: {"value": pa.array([None] * ROWS, pa.int64())}, "a column is null"),
        (lambda: {"label": pa.DictionaryArray.from_arrays(pa.array([9] * ROWS, pa.int32()), ["a"], safe=False)},
         "damaged"),
    ],
)  # fmt: skip
def test_a_damaged_column_is_reported_in_one_line(tmp_path, columns, cause):
    path = table_of(tmp_path / "history.arrows", **columns())

    with pytest.raises(ProtocolError, match=cause) as caught:
        read(path)

    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")


def test_numbers_of_more_than_64_bits_are_refused(tmp_path):
    huge = full(0)
    path = write(tmp_path / "history.arrows", replace(huge, driver=DriverState(Path("/a"), pid=1 << 63)))

    with pytest.raises(ProtocolError, match="pid: must be int or null, numbers of at most 64 bits"):
        read(path)


def test_snapshots_that_are_not_in_order_are_refused(tmp_path):
    path = write(tmp_path / "history.arrows", full(1), full(0))

    with pytest.raises(ProtocolError, match="must be later than the one before"):
        read(path)


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"", "is empty"),
        (b"PAR1", "no end"),
        (b"PAR1" * 10, "no end"),
        (b"\xff" * 1000, "damaged"),
        (b"{}\n", "damaged"),
    ],
)
def test_a_file_that_is_no_table_is_reported_in_one_line(tmp_path, content, cause):
    path = tmp_path / "history.arrows"
    path.write_bytes(content)

    with pytest.raises(ProtocolError, match=cause) as caught:
        read(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("metadata", "cause"),
    [
        (None, "is no history"),
        ({module.history_schema().metadata.copy().popitem()[0]: b"99"}, "version '99'"),
    ],
)
def test_another_table_is_no_history(tmp_path, metadata, cause):
    schema = pa.schema([("a", pa.int64())], metadata=metadata)
    for path, new in (
        (tmp_path / "a.arrows", pa.ipc.new_stream),
        (tmp_path / "a.parquet", parquet.ParquetWriter),
    ):
        with new(path, schema):
            pass

        with pytest.raises(ProtocolError, match=cause):
            read(path)


@pytest.mark.parametrize("ending", ENDINGS)
def test_bytes_that_were_changed_anywhere_never_escape_as_another_error(tmp_path, ending):
    sound = write(tmp_path / f"history{ending}", full(0), full(1)).read_bytes()
    path = tmp_path / f"damaged{ending}"
    reports = []
    for seed in range(300):
        random_of = random.Random(seed)
        data = bytearray(sound)
        for _ in range(random_of.choice((1, 1, 4))):
            data[random_of.randrange(len(data))] = random_of.randrange(256)
        path.write_bytes(data)
        try:
            for found in read(path):
                limitations(found)
        except ProtocolError as error:
            reports.append(str(error))
    assert reports
    assert [text for text in reports if "\n" in text] == []
