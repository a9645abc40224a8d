"""Batches of numpy arrays through shared memory."""

from __future__ import annotations

import re

from example_programs import in_half_a_minute

ROW = re.compile(r"^ +([\d.]+) s +([\d,]+) +([\d,]+) +([\d,]+) +([\d.]+) +([\d,]+) µs$", re.M)


def test_millions_of_messages_a_second_arrive_in_order(example, capsys):
    program = example("batches.py")

    with in_half_a_minute():
        program.main([])

    output = capsys.readouterr().out
    rows = [[float(text.replace(",", "")) for text in row] for row in ROW.findall(output)]
    total, rate = re.search(
        r"^([\d,]+) messages, none lost, all in order: ([\d,]+) a second$", output, re.M
    ).groups()
    assert 1 <= len(rows) <= 6
    # Tens of millions on a machine that does nothing else.
    assert int(rate.replace(",", "")) > 1_000_000
    assert int(total.replace(",", "")) > 1_000_000
    for _, messages, megabytes, per_call, mean, _ in rows:
        assert round(messages * 24 / 1e6) == megabytes
        assert 1 < per_call <= 4096
        assert 19.5 < mean < 20.5
