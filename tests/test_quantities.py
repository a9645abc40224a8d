"""Sizes and durations have one syntax, wherever a user writes them."""

import pytest
from pyspark_aeron.options import SourceOptions

from aeron_core.cli.quantities import duration_ns_of, size_of
from aeron_core.errors import ConfigurationError
from aeron_core.settings import DriverSettings
from aeron_core.uri.channel_uri import ChannelUri

DURATIONS = {
    "channel": lambda text: ChannelUri.parse(f"aeron:ipc?linger={text}").get_duration_ns("linger", 0),
    "setting": lambda text: DriverSettings(image_liveness_timeout_ns=text).image_liveness_timeout_ns,
    "command": lambda text: duration_ns_of("--interval", text),
    "spark": lambda text: SourceOptions.parse({"archive": "/a", "maxTriggerDelay": text}).max_trigger_delay,
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
@pytest.mark.parametrize("text", ["15m", "1.5s", "5 s", "5sec", "-5s", "s"])
def test_a_wrong_duration_is_refused_everywhere(place, text):
    with pytest.raises(ConfigurationError):
        DURATIONS[place](text)


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
