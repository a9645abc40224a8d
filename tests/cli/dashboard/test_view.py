"""Content of the dashboard's page, without a browser."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

from observed import STREAM_ID, heartbeat, record, records_of, snapshot

from aeron_core.cli.dashboard.documents import MAX_LENGTH, MAX_ROWS, clipped
from aeron_core.cli.dashboard.trends import ALL, Trends, scope_of_stream
from aeron_core.cli.dashboard.view import Reading, document_of, names_of
from aeron_core.cli.top.sources import DriverStatus, Moment, ObservedDriver
from aeron_core.concurrent import counter_types as types
from aeron_core.concurrent.counter_types import CounterOwner
from aeron_core.concurrent.error_log import ErrorRecord

#: A publication of IPC whose only subscriber has read nothing.
STUCK = {"pub_pos": 60_000, "pub_lmt": 60_000, "ipc_sub": 0}


def observed(now, before=None, status=DriverStatus.ALIVE):
    return ObservedDriver(now.driver, status, now, before)


def shown(*drivers, scope=ALL, trends=None):
    """Return the document of a moment with these drivers, as the page gets it."""
    moment = Moment(int(1.7e18), drivers)
    trends = trends or Trends(10)
    trends.add(moment)
    document = document_of(Reading(moment), trends, scope)
    return json.loads(json.dumps(document, allow_nan=False))


def texts(table, column):
    """Return the texts of a column."""
    index = [each["name"] for each in table["columns"]].index(column)
    return [row["cells"][index][0] for row in table["rows"]]


def stuck(at_s=1.0, **options):
    return snapshot(*records_of("aeron:ipc", **STUCK), heartbeat(), at_s=at_s, **options)


def test_the_party_that_holds_a_stream_back_is_named_with_its_process():
    document = shown(observed(stuck(), stuck(0.0)))

    assert document["bar"]["limits"] == [
        "subscriber 9 of process 4711 (app) holds stream 1001 back, 60.0 kB behind, and does not poll"
    ]
    assert texts(document["streams"], "limited by") == ["subscriber 9, process 4711 (app)"]


def test_positions_on_the_page_are_those_of_the_counters():
    document = shown(observed(snapshot(*records_of(pub_pos=5_000, pub_lmt=9_000, snd_pos=4_000))))

    assert texts(document["streams"], "publisher") == ["5,000"]
    assert texts(document["streams"], "sender") == ["4,000"]


def test_a_row_has_the_last_rates_of_its_stream():
    trends = Trends(10)
    moments = [snapshot(*records_of(pub_pos=1000 * n, pub_lmt=9_000), at_s=n) for n in range(4)]
    for before, now in itertools.pairwise(moments):
        document = shown(observed(now, before), trends=trends)

    assert document["streams"]["rows"][0]["line"] == [1000, 1000, 1000]


def test_texts_of_peers_are_printable_and_bounded():
    text = clipped("<b>\0\x1b[31m" + "x" * 10_000 + "end")

    assert text.startswith("<b>\\x00\\x1b[31m")
    assert text.endswith("end")
    assert len(text) <= 2 * MAX_LENGTH


def test_of_too_many_rows_those_with_an_alert_are_shown():
    owners = [CounterOwner(number, 7, number, "aeron:ipc", 71) for number in range(MAX_ROWS + 50)]
    records = [
        record(kind, "x", value, owner)
        for owner in owners
        for kind, value in ((types.PUBLISHER_POSITION, 60_000), (types.PUBLISHER_LIMIT, 60_000))
    ]
    last = CounterOwner(9, 7, MAX_ROWS + 49, "aeron:ipc", 71)
    reader = record(types.SUBSCRIBER_POSITION, "sub-pos", 0, last, reference_id=MAX_ROWS + 49)
    document = shown(observed(snapshot(*records, reader)))

    table = document["streams"]
    assert len(table["rows"]) == MAX_ROWS
    assert table["total"] == MAX_ROWS + 50
    assert texts(table, "stream")[0] == str(MAX_ROWS + 49)


def test_keys_of_rows_are_distinct_and_short():
    document = shown(
        *(
            observed(replace(stuck(), driver=replace(stuck().driver, aeron_dir=Path("/" + "a" * 500 + end))))
            for end in "xy"
        )
    )

    keys = [row["key"] for row in document["streams"]["rows"]]
    assert len(set(keys)) == 2
    assert all(len(key) <= MAX_LENGTH for key in keys)


def test_drivers_with_one_name_are_shown_with_their_directories():
    paths = [Path("/dev/shm/aeron-a"), Path("/tmp/aeron-a"), Path("/dev/shm/aeron-b")]

    names = names_of(
        observed(replace(stuck(), driver=replace(stuck().driver, aeron_dir=path))) for path in paths
    )

    assert list(names.values()) == ["/dev/shm/aeron-a", "/tmp/aeron-a", "aeron-b"]


def test_errors_of_a_driver_are_shown_with_their_counts():
    errors = (ErrorRecord(3, 1_000, 2_000, "went\nwrong", "1.2.3.4:5"),)

    document = shown(observed(replace(stuck(), errors=errors)))

    assert texts(document["errors"], "count") == ["3"]
    assert texts(document["errors"], "error") == ["went wrong; last peer 1.2.3.4:5"]


def test_a_stream_that_a_row_names_can_be_selected():
    document = shown(observed(stuck()))

    assert document["streams"]["rows"][0]["scope"] == scope_of_stream(STREAM_ID, 7)
