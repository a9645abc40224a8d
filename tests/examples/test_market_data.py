"""Quotes by multicast with a slow consumer, under two flow controls."""

from __future__ import annotations

import re
from statistics import mean

import pytest
from example_programs import in_half_a_minute

ROW = re.compile(r"^ *([\d.]+) s +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+)   (.+)$", re.M)


def number(text):
    return float(text.replace(",", ""))


def rows_of(text):
    return [(*map(number, row[:5]), row[5]) for row in ROW.findall(text)]


def published(rows, begin_s, end_s):
    return mean(row[1] for row in rows if begin_s <= row[0] < end_s)


def test_a_slow_consumer_limits_the_publisher_with_min_and_loses_quotes_with_max(example, capsys, tmp_path):
    pytest.importorskip("matplotlib")
    program = example("market_data.py")

    with in_half_a_minute():
        program.main(["--to", str(tmp_path / "rates.png")])

    output = capsys.readouterr().out
    minimum, maximum = (rows_of(part) for part in output.split("fc=max"))
    assert len(minimum) == len(maximum) >= 8
    # The exchange sends a tenth of its rate while the slow desk is slow; the first interval fills the window.
    assert published(minimum, 2, 3) < published(minimum, 0, 1) / 2
    assert any(row[5].startswith("slow desk, ") for row in minimum)
    assert {row[4] for row in minimum} == {0}
    assert published(maximum, 2, 3) > published(minimum, 2, 3) * 2
    assert maximum[-1][4] > 1000
    assert "nothing; the slow desk has lost the stream" in [row[5] for row in maximum]
    assert not any(row[5].startswith("slow desk, ") for row in maximum)
    assert f"drawn to {tmp_path / 'rates.png'}" in output
    assert (tmp_path / "rates.png").read_bytes().startswith(b"\x89PNG")
