"""What a soak reports of its samples: a value that grows, and no noise, step or load of the machine."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from laboratory import command
from laboratory.judgement import BOUNDS, judge

INTERVAL_S = 10
HOUR = 360  # samples
STREAMS_PER_HOUR = 12_000
SEEDS = range(20)


def samples_of(name, values, stalled_s=0.0):
    pressures = np.broadcast_to(stalled_s, len(values))
    return [
        {"time_s": (number + 1) * INTERVAL_S, name: float(value), "stalled_s": float(pressure)}
        for number, (value, pressure) in enumerate(zip(values, pressures, strict=True))
    ]


def trend_of(name, values, stalled_s=0.0):
    (trend,) = judge(samples_of(name, values, stalled_s), INTERVAL_S)
    return trend


def correlated(chance, count, deviation):
    """Return noise whose neighbours depend on each other, for five minutes, as what other programs do to latencies."""
    noise = np.zeros(count)
    for at in range(1, count):
        noise[at] = 0.97 * noise[at - 1] + chance.normal(0, deviation * math.sqrt(1 - 0.97**2))
    return noise


def pages(kilobytes):
    return np.floor(np.asarray(kilobytes) / 4) * 4


@pytest.mark.parametrize(("hours", "leak_bytes"), [(1, 24), (2, 19), (6, 14)])
@pytest.mark.parametrize("seed", SEEDS)
def test_memory_that_each_stream_leaks_is_found(hours, leak_bytes, seed):
    chance = np.random.default_rng(seed)
    streams = np.cumsum(chance.poisson(STREAMS_PER_HOUR / HOUR, hours * HOUR))

    trend = trend_of("driver-left private_kb", pages(44_000 + streams * leak_bytes / 1024))

    assert trend.is_violation


@pytest.mark.parametrize("seed", SEEDS)
def test_memory_that_is_used_and_freed_is_no_violation(seed):
    chance = np.random.default_rng(seed)

    trend = trend_of("driver-left private_kb", pages(44_000 + correlated(chance, HOUR, 40)))

    assert trend.is_judged
    assert not trend.is_violation


@pytest.mark.parametrize("at", [0.5, 0.6, 0.75, 0.9])
def test_one_step_of_memory_is_no_violation(at):
    values = np.where(np.arange(HOUR) < at * HOUR, 32_532, 33_472)

    assert not trend_of("recorder-left private_kb", values).is_violation


def test_memory_that_caches_fill_in_the_first_half_is_no_violation():
    values = np.minimum(np.linspace(30_000, 60_000, HOUR), 44_000)

    assert not trend_of("driver-left private_kb", values).is_violation


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("name", "middle", "deviation"), [("latency_ms", 5, 1), ("latency_p99_ms", 25, 15)])
def test_latency_that_varies_is_no_violation(seed, name, middle, deviation):
    chance = np.random.default_rng(seed)

    trend = trend_of(f"udp {name}", middle + abs(correlated(chance, HOUR, deviation)))

    assert trend.is_judged
    assert not trend.is_violation


@pytest.mark.parametrize("seed", SEEDS)
def test_latency_that_doubles_within_the_second_half_is_found(seed):
    chance = np.random.default_rng(seed)
    growing = 5 * np.maximum(1, np.linspace(0, 2, HOUR))

    assert trend_of("udp latency_ms", growing + chance.normal(0, 0.6, HOUR)).is_violation


@pytest.mark.parametrize("seed", SEEDS)
def test_latency_that_grows_with_the_load_of_the_machine_is_no_violation(seed):
    chance = np.random.default_rng(seed)
    stalled_s = np.linspace(0, INTERVAL_S, HOUR)

    trend = trend_of("udp latency_ms", 4 + stalled_s + chance.normal(0, 0.6, HOUR), stalled_s)

    assert not trend.is_violation


@pytest.mark.parametrize(("per_hour", "is_violation"), [(0, False), (30, True)])
@pytest.mark.parametrize("seed", SEEDS)
def test_counters_that_remain_are_found_among_those_of_visitors(per_hour, is_violation, seed):
    chance = np.random.default_rng(seed)
    left = np.floor(np.linspace(0, 2 * per_hour, 2 * HOUR))

    trend = trend_of("driver-left counters", 160 + np.round(chance.normal(0, 10, 2 * HOUR)) + left)

    assert trend.is_violation is is_violation


@pytest.mark.parametrize(("opened", "is_violation"), [(1, False), (12, True)])
def test_descriptors_may_grow_by_one_but_not_again_and_again(opened, is_violation):
    values = 13 + np.floor(np.linspace(0, opened + 0.99, HOUR))

    assert trend_of("driver-left descriptors", values).is_violation is is_violation


def test_a_run_that_is_too_short_judges_nothing():
    trend = trend_of("driver-left private_kb", np.arange(6) * 1000)

    assert trend.per_hour > 0
    assert not trend.is_judged
    assert not trend.is_violation


def test_intervals_without_a_message_have_no_latency():
    values = np.full(HOUR, 5.0)
    values[::3] = math.nan

    assert trend_of("udp latency_ms", values).per_hour == 0
    assert not trend_of("udp latency_ms", np.full(HOUR, math.nan)).is_judged


@pytest.mark.parametrize(("leak_kb", "code"), [(0, 0), (4, 1)])
def test_the_program_ends_with_the_process_the_value_and_the_bound(
    tmp_path, monkeypatch, capsys, leak_kb, code
):
    path = tmp_path / "samples.json"
    path.write_text(json.dumps(samples_of("driver-left private_kb", 44_000 + leak_kb * np.arange(HOUR))))
    monkeypatch.setattr("sys.argv", ["faults", "--samples", str(path)])

    with pytest.raises(SystemExit) as ended:
        command.main()

    violation = (
        "violation: driver-left private_kb grows by 1440.0 kB an hour, and at least by 1440.0 "
        "(from 44734 to 45424): its bound is 256.7\n"
    )
    assert ended.value.code == code
    assert (violation in capsys.readouterr().out) is bool(code)


def test_every_value_that_a_soak_samples_beside_processor_time_has_a_bound():
    assert set(BOUNDS) == {
        "private_kb",
        "descriptors",
        "counters",
        "log_buffers",
        "latency_ms",
        "latency_p99_ms",
    }
