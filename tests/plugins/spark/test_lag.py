"""Lag of queries for each stream."""

import json
from types import SimpleNamespace

import pytest
from pyspark_aeron.lag import Lag, Lags, StreamLag
from pyspark_aeron.lag_listener import LagListener, QueryLag

from aeron_core.testing.recordings import MILLISECOND_NS, NOW_NS


def clock():
    return NOW_NS + 10 * MILLISECOND_NS


@pytest.fixture
def lags(written):
    """Return Lags for an archive with one message recorded in each of three milliseconds."""
    for _ in range(3):
        written.append(b"a")
    return Lags([written.store.folder, "/nowhere"], clock)


def test_the_age_is_that_of_the_first_unread_message(lags, written):
    seen = lags(Lag(written.archive.uuid, 0, 64, 192))

    assert seen == StreamLag(0, 128, pytest.approx(0.008), "aeron:ipc", 22, 11)


def test_a_stream_with_nothing_to_read_is_not_behind(lags, written):
    assert lags(Lag(written.archive.uuid, 0, 192, 192)) == StreamLag(0, 0, 0.0, "aeron:ipc", 22, 11)


def test_an_unreadable_archive_yields_bytes_only(lags, written):
    assert lags(Lag(written.archive.uuid, 9, 64, 192)) == StreamLag(9, 128, None)
    assert lags(Lag("another", 0, 64, 192)) == StreamLag(0, 128, None)


def progress(uuid, **changes):
    document = {
        "id": "1b2c",
        "name": "copy",
        "batchId": 7,
        "sources": [
            {
                "endOffset": {"archive": uuid, "pos": {"0": 64}, "v": 1},
                "latestOffset": {"archive": uuid, "pos": {"0": 192}, "v": 1},
            },
            {"endOffset": 5, "latestOffset": 9},
        ],
    }
    return SimpleNamespace(progress=SimpleNamespace(json=json.dumps(document | changes)))


def test_a_listener_receives_every_batch(written):
    for _ in range(3):
        written.append(b"a")
    reports = []
    listener = LagListener([written.store.folder], reports.append, clock)

    listener.onQueryProgress(progress(written.archive.uuid))
    listener.onQueryProgress(progress(written.archive.uuid, name=None))

    stream = StreamLag(0, 128, pytest.approx(0.008), "aeron:ipc", 22, 11)
    assert reports == [QueryLag("copy", 7, (stream,)), QueryLag("1b2c", 7, (stream,))]
    assert (reports[0].bytes, reports[0].seconds) == (128, pytest.approx(0.008))


def test_a_query_without_recordings_is_ignored():
    reports = []

    LagListener(on_lag=reports.append).onQueryProgress(progress("u", sources=[{"endOffset": 5}]))

    assert reports == []


def test_a_listener_logs_by_default(caplog):
    with caplog.at_level("INFO"):
        LagListener().onQueryProgress(progress("u"))

    assert caplog.messages == [
        "copy: batch 7: unknown channel stream 0 recording 0: behind by 128 bytes, ? s"
    ]
