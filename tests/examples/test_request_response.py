"""Requests and responses of several clients."""

from __future__ import annotations

import re

from example_programs import in_half_a_minute

#: Requests of each client.
COUNT = 2000
ROW = re.compile(r"^(\w+) +([\d.]+) +([\d,]+) +([\d,]+) µs +([\d,]+) µs$", re.M)


def test_each_client_gets_its_own_responses(example, capsys):
    program = example("request_response.py")

    with in_half_a_minute():
        program.main([])

    output = capsys.readouterr().out
    rows = ROW.findall(output)
    assert [(symbol, float(price), int(count.replace(",", ""))) for symbol, price, count, _, _ in rows] == [
        (symbol, price, COUNT) for symbol, price in program.PRICES.items()
    ]
    assert all(int(median.replace(",", "")) > 0 for *_, median, _ in rows)
    total, histogram = output.split("round-trip times of ")[1].split("requests\n")
    counts = [int(line.split()[-1].replace(",", "")) for line in histogram.splitlines()]
    assert total == "8,000 "
    assert sum(counts) == len(rows) * COUNT
    assert "█" * 50 in histogram
