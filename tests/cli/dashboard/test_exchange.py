"""Snapshots that one dashboard sends to another, and damaged ones."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from remote_drivers import WHOLE

from aeron_core.cli.dashboard import exchange
from aeron_core.cli.dashboard.exchange import document_of_snapshots, snapshots_of
from aeron_core.concurrent.counters import NOT_FREE_TO_REUSE
from aeron_core.errors import ProtocolError


def test_a_snapshot_survives_the_exchange():
    allocated = tuple(replace(each, free_for_reuse_deadline_ms=NOT_FREE_TO_REUSE) for each in WHOLE.counters)
    whole = replace(WHOLE, counters=allocated)

    assert snapshots_of(document_of_snapshots([whole])) == [whole]


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found.update(version=2),
        lambda found: found.pop("drivers"),
        lambda found: found.update(drivers={}),
        lambda found: found.update(drivers=[[]]),
        lambda found: found["drivers"][0].update(time_ns="1"),
        lambda found: found["drivers"][0].update(time_ns=1 << 64),
        lambda found: found["drivers"][0].update(driver="{}"),
        lambda found: found["drivers"][0].update(details="[]"),
        lambda found: found["drivers"][0]["counters"][0].pop(),
        lambda found: found["drivers"][0]["counters"][0].__setitem__(-1, "%%"),
        lambda found: found["drivers"][0]["counters"][0].__setitem__(0, True),
    ],
)
def test_a_damaged_exchange_is_refused(change):
    found = json.loads(document_of_snapshots([WHOLE]))
    change(found)

    with pytest.raises(ProtocolError, match="no snapshots of a dashboard"):
        snapshots_of(json.dumps(found).encode())


def test_more_counters_than_all_drivers_may_have_are_refused(monkeypatch):
    count = 2 * len(WHOLE.counters)
    monkeypatch.setattr(exchange, "_MAX_COUNTERS", count)
    assert len(snapshots_of(document_of_snapshots([WHOLE] * 2))) == 2

    monkeypatch.setattr(exchange, "_MAX_COUNTERS", count - 1)

    with pytest.raises(ProtocolError, match=f"{count} counters: must be at most {count - 1}"):
        snapshots_of(document_of_snapshots([WHOLE] * 2))


def test_a_directory_that_no_driver_can_have_is_refused():
    driver = replace(WHOLE.driver, aeron_dir=Path("/" + "x" * 4096))

    with pytest.raises(ProtocolError, match="a directory has 4097 characters: must have at most 4096"):
        snapshots_of(document_of_snapshots([replace(WHOLE, driver=driver)]))


@pytest.mark.parametrize("data", [b"", b"[]", b"\xff", b"[" * 100_000])
def test_what_is_no_exchange_is_refused(data):
    with pytest.raises(ProtocolError):
        snapshots_of(data)


@pytest.mark.parametrize("value", [b"{},", b"[],", b"0,"])
def test_a_document_of_very_many_values_is_refused_before_it_is_parsed(value):
    data = b'{"version":1,"drivers":[' + value * 1_500_001 + b"0]}"

    with pytest.raises(ProtocolError, match="values: must be at most 1500000"):
        snapshots_of(data)
