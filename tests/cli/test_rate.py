"""Numbers for people."""

import pytest

from aeron_core.cli.rate import RateDisplay, counted


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 messages"), (1, "1 message"), (2, "2 messages"), (1000, "1,000 messages")]
)
def test_one_is_singular(number, text):
    assert counted(number, "message") == text


def test_the_summary_of_one_message_is_singular():
    with RateDisplay("sent") as display:
        display.add(1, 1)

    assert display.sentence("sent").startswith("sent 1 message of 1 byte in ")
