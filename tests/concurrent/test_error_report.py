import time

import pytest

from aeron_core.concurrent.error_log import ErrorRecord
from aeron_core.concurrent.error_report import date_of, lines_of


@pytest.fixture(autouse=True)
def _time_zone(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "IST-5:30")
        time.tzset()
        yield
    time.tzset()


def test_a_time_has_milliseconds_and_the_offset_of_the_time_zone():
    assert date_of(1_700_000_000_007) == "2023-11-15 03:43:20.007+0530"


def test_a_report_has_the_text_of_the_reference():
    record = ErrorRecord(1, 1_700_000_000_000, 1_700_000_001_000, "(22) Invalid argument: x")

    # Source: error_stat.c, with its plurals.
    assert list(lines_of([record])) == [
        "***",
        "1 observations from 2023-11-15 03:43:20.000+0530 to 2023-11-15 03:43:21.000+0530 for:",
        " (22) Invalid argument: x",
        "",
        "1 distinct errors observed.",
    ]
