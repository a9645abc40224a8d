"""Summaries of a transfer, the rate of `pub`, and the bar of `ping`."""

import itertools

import pytest

from aeron_core.cli.messages import ping, pub
from aeron_core.cli.messages.ping import PingBar
from aeron_core.cli.messages.pub import paced
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


@pytest.mark.parametrize(
    ("totals", "total", "completed"),
    [((None, None), None, 33), ((10, None), 10, 3), ((10, 1000), 10, 3), ((None, 66), 66, 33)],
)
def test_the_bar_of_a_transfer_counts_messages_or_else_bytes_with_line_ends(
    monkeypatch, totals, total, completed
):
    monkeypatch.setattr("aeron_core.cli.rate.is_terminal", lambda: True)

    with RateDisplay("sent", *totals) as display:
        display.add(3, 30)
        (task,) = display._progress.tasks

    assert (task.total, task.completed) == (total, completed)


class Clock:
    """Time that passes only in sleeps, each of which takes 50 µs longer than asked for, and in work."""

    def __init__(self):
        self.now_s = 100.0
        self.sleeps = 0

    def monotonic(self):
        return self.now_s

    def sleep(self, seconds):
        assert seconds > 0
        self.sleeps += 1
        self.now_s += seconds + 50e-6


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(pub, "time", made)
    return made


@pytest.mark.parametrize("rate", [10, 1000, 100_000, 1_000_000])
def test_a_rate_is_kept_although_sleeps_take_longer(clock, rate):
    messages = [b"message"] * rate

    assert list(paced(messages, rate)) == messages

    # The last message is due one interval before the end of the second.
    assert clock.now_s - 100 == pytest.approx(1 - 1 / rate, abs=100e-6)


def test_late_messages_are_sent_without_a_sleep(clock):
    list(paced([b"message"] * 100_000, 100_000))

    # The messages that became due in a sleep of 10 to 60 µs follow it without another sleep.
    assert clock.sleeps < 25_000


def test_a_long_delay_is_not_followed_by_a_burst(clock):
    sent_s = []
    for index, _ in enumerate(paced([b"message"] * 20, 100)):
        sent_s.append(clock.now_s)
        if index == 9:
            clock.now_s += 5

    gaps = [after - before for before, after in itertools.pairwise(sent_s[10:])]
    assert min(gaps) > 0.009


def test_without_a_rate_there_is_no_sleep(clock):
    assert list(paced([b"a", b"b"], None)) == [b"a", b"b"]
    assert clock.sleeps == 0


def test_the_lowest_rate_is_a_pause_that_the_system_can_sleep(clock):
    list(paced([b"a", b"b"], 5e-324))

    assert clock.now_s == pytest.approx(1e9 + 100)


@pytest.mark.parametrize(("is_terminal", "drawn"), [(True, [20, 22]), (False, [])])
def test_ping_draws_a_bar_on_a_terminal_after_two_seconds_and_then_every_tenth(
    clock, monkeypatch, is_terminal, drawn
):
    monkeypatch.setattr(ping, "time", clock)
    monkeypatch.setattr(ping, "is_terminal", lambda: is_terminal)

    shown = []
    with PingBar(100) as bar:
        for count in range(1, 44):
            # Each of the first twenty takes 0.1 s, the others 0.05 s.
            clock.now_s += 0.1001 if count <= 20 else 0.0501
            bar.advance()
            if bar._progress is not None:
                (task,) = bar._progress.tasks
                assert task.total == 100
                shown.append(task.completed)

    assert sorted(set(shown))[:2] == drawn
