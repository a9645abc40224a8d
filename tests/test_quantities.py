"""Sizes and durations have one syntax, wherever a user writes them."""

import pytest
from pyspark_aeron.options import SourceOptions
from pyspark_aeron.pipeline.definition import Watermark

from aeron_core.cli.quantities import age_ns_of, duration_ns_of, size_of, wait_s
from aeron_core.errors import ConfigurationError
from aeron_core.settings import DriverSettings
from aeron_core.uri.channel_uri import ChannelUri


def interval_ns(text):
    """Return the ns of an interval of a pipeline, which is converted to Spark's names of units."""
    count, unit = Watermark(column="ts", delay=text).delay.split()
    return int(count) * NS_OF_SPARK[unit]


NS_OF_SPARK = {
    "microseconds": 10**3,
    "milliseconds": 10**6,
    "seconds": 10**9,
    "minutes": 60 * 10**9,
    "hours": 3600 * 10**9,
    "days": 86400 * 10**9,
}
DURATIONS = {
    "channel": lambda text: ChannelUri.parse(f"aeron:ipc?linger={text}").get_duration_ns("linger", 0),
    "setting": lambda text: DriverSettings(image_liveness_timeout_ns=text).image_liveness_timeout_ns,
    "command": lambda text: duration_ns_of("--interval", text),
    "command that waits": lambda text: round(wait_s(text) * 10**9),
    "command on ages": lambda text: age_ns_of("--retain-age", text),
    "spark": lambda text: SourceOptions.parse({"archive": "/a", "maxTriggerDelay": text}).max_trigger_delay,
    "pipeline": interval_ns,
}
SIZES = {
    "channel": lambda text: ChannelUri.parse(f"aeron:ipc?mtu={text}").get_size("mtu", 0),
    "setting": lambda text: DriverSettings(term_buffer_length=text).term_buffer_length,
    "command": lambda text: size_of("--rate", text),
    "spark": lambda text: SourceOptions.parse({"archive": "/a", "partitionLength": text}).partition_length,
}


@pytest.mark.parametrize("place", DURATIONS)
@pytest.mark.parametrize(
    ("text", "duration_ns"),
    [
        ("5000000ns", 5 * 10**6),
        ("5000us", 5 * 10**6),
        ("100ms", 10**8),
        ("100MS", 10**8),
        ("5s", 5 * 10**9),
        ("15min", 15 * 60 * 10**9),
        ("2h", 2 * 3600 * 10**9),
        ("7d", 7 * 86400 * 10**9),
    ],
)
def test_a_duration_is_the_same_everywhere(place, text, duration_ns):
    assert DURATIONS[place](text) == duration_ns


@pytest.mark.parametrize("place", DURATIONS)
@pytest.mark.parametrize("text", ["15m", "1.5s", "5  s", "5sec", "-5s", "-5", "s"])
def test_a_wrong_duration_is_refused_everywhere(place, text):
    with pytest.raises(ValueError, match="must"):
        DURATIONS[place](text)


@pytest.mark.parametrize("place", sorted(DURATIONS.keys() - {"pipeline"}))
def test_only_pipelines_accept_a_space_before_the_unit(place):
    with pytest.raises(ValueError, match="must"):
        DURATIONS[place]("5 s")


@pytest.mark.parametrize(
    ("text", "of_spark"),
    [
        ("0 seconds", "0 seconds"),
        ("500 ms", "500 milliseconds"),
        ("10 Seconds", "10 seconds"),
        ("2min", "2 minutes"),
        ("1 hour", "1 hour"),
        ("1day", "1 day"),
        ("7 microseconds", "7 microseconds"),
        ("1001ns", "2 microseconds"),  # never shorter than written
        ("9" * 30 + "d", f"{2**63 // (86400 * 10**9) + 1} days"),
    ],
)
def test_a_pipeline_has_the_units_of_spark_too(text, of_spark):
    assert Watermark(column="ts", delay=text).delay == of_spark


@pytest.mark.parametrize(
    ("text", "duration_ns"),
    [("5", 5 * 10**9), ("0.5", 5 * 10**8), (".29", 29 * 10**7), ("2.", 2 * 10**9), ("0", 0)],
)
def test_a_number_without_a_unit_is_seconds_on_the_command_line(text, duration_ns):
    assert duration_ns_of("--interval", text) == duration_ns
    assert wait_s(text) == duration_ns / 10**9


@pytest.mark.parametrize("text", ["nan", "inf", "1e3", "1_000", "+5", "\u0661", "5.5.5", "."])
def test_other_numbers_are_no_seconds(text):
    with pytest.raises(ValueError, match="or a number of seconds"):
        wait_s(text)


def test_a_command_waits_31_years_at_most():
    assert wait_s("1000000000") == 1e9
    for text in ("1000000001", "9" * 5000, "12000d"):
        with pytest.raises(ValueError, match="must be at most 1000000000s"):
            wait_s(text)


def test_an_age_needs_a_unit():
    with pytest.raises(ConfigurationError, match="--retain-age=7: must have a unit, such as d for days"):
        age_ns_of("--retain-age", "7")


@pytest.mark.parametrize("place", SIZES)
@pytest.mark.parametrize(
    ("text", "length"),
    [("65536", 1 << 16), ("64k", 1 << 16), ("64K", 1 << 16), ("4m", 4 << 20), ("1g", 1 << 30)],
)
def test_a_size_is_the_same_everywhere(place, text, length):
    assert SIZES[place](text) == length


@pytest.mark.parametrize("place", SIZES)
@pytest.mark.parametrize("text", ["64kb", "64 k", "1.5m", "1t", "-1", "k"])
def test_a_wrong_size_is_refused_everywhere(place, text):
    with pytest.raises(ConfigurationError):
        SIZES[place](text)
