"""Negative results of different meaning never share a number, and none is that of an exception in C."""

from collections import Counter

from aeron_media.lumberjack._native import end_reasons, faults, sentinels


def test_negative_results_are_distinct_and_none_signals_an_exception():
    values = [
        value
        for module in (end_reasons, faults, sentinels)
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, int) and value < 0
    ]

    assert sentinels.NOWHERE in values
    assert Counter(values).most_common(1)[0][1] == 1
    assert -1 not in values
