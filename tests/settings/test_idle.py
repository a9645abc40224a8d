import pytest

from aeron_core.errors import ConfigurationError
from aeron_core.settings.idle import BackoffArgs, parse_backoff_args, parse_sleep_ns


@pytest.mark.parametrize(
    ("text", "args"),
    [
        (None, BackoffArgs(10, 20, 1_000, 1_000_000)),
        ("10-20-1us-1ms", BackoffArgs(10, 20, 1_000, 1_000_000)),
        ("0-0-5-1s", BackoffArgs(0, 0, 5, 1_000_000_000)),
    ],
)
def test_backoff_is_given_by_spins_yields_and_two_durations(text, args):
    assert parse_backoff_args(text) == args


@pytest.mark.parametrize("text", ["", "10", "10-20-1us", "10-20-1us-1ms-5", "a-b-c-d", "10-20-1x-1ms"])
def test_backoff_requires_exactly_four_values(text):
    with pytest.raises(ConfigurationError, match="must be spins-yields-minPark-maxPark"):
        parse_backoff_args(text)


@pytest.mark.parametrize(("text", "sleep_ns"), [(None, 1), ("1ms", 1_000_000), ("50", 50)])
def test_sleep_is_given_by_a_duration(text, sleep_ns):
    assert parse_sleep_ns(text) == sleep_ns
