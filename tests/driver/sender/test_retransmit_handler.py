"""Retransmissions per gap, independent of how many receivers request it and how often."""

import pytest

from aeron_core._native import wire
from aeron_core.driver._native import operations
from aeron_core.driver.sender.retransmit_handler import RetransmitHandler
from aeron_core.spi.flow_control import FlowControl
from aeron_core.testing.parts import RetransmitProbe

ACCEPTED, COVERED, OVERFLOW = (
    operations.RETRANSMIT_ACCEPTED,
    operations.RETRANSMIT_COVERED,
    operations.RETRANSMIT_OVERFLOW,
)
TERM = 65536
LINGER = 60


class Handler:
    """A handler with a clock, for NAKs of one term."""

    def __init__(self, *, windows=1, initial_window_length=128 * 1024, delay_ns=0, **changes):
        flow_control = FlowControl()
        flow_control.retransmit_window_multiple = windows
        arguments = {"is_group": False, "max_resend": 16, "linger_ns": LINGER} | changes
        self._probe = RetransmitProbe(
            RetransmitHandler(initial_window_length=initial_window_length, delay_ns=delay_ns, **arguments),
            flow_control,
        )
        self.now_ns = 1000

    def nak(self, term_offset, length, *, term_id=7):
        return self._probe.on_nak(term_id, term_offset, length, TERM, self.now_ns)

    def pass_time(self, duration_ns):
        self.now_ns += duration_ns
        return self._probe.process_timeouts(self.now_ns)

    @property
    def resent(self):
        return self._probe.resender.calls


def test_without_a_delay_a_gap_is_retransmitted_at_once():
    handler = Handler()

    assert handler.nak(1024, 2048) == ACCEPTED

    assert handler.resent == [(7, 1024, 2048)]


def test_with_a_delay_a_gap_is_retransmitted_after_it():
    handler = Handler(delay_ns=20)

    handler.nak(1024, 2048)

    assert handler.resent == []
    assert handler.pass_time(20) == 0
    assert handler.pass_time(1) == 1
    assert handler.resent == [(7, 1024, 2048)]


@pytest.mark.parametrize("is_group", [False, True])
@pytest.mark.parametrize("offset", [1024, 1056, 1024 + 2048 - 32])
def test_a_nak_that_starts_in_a_retransmitted_range_is_covered(is_group, offset):
    handler = Handler(is_group=is_group)
    handler.nak(1024, 2048)

    assert handler.nak(offset, 4096) == COVERED

    assert len(handler.resent) == 1


def test_a_delayed_retransmission_covers_other_naks():
    handler = Handler(is_group=True, delay_ns=20)
    handler.nak(1024, 2048)

    assert handler.nak(1024, 2048) == COVERED


@pytest.mark.parametrize(("waited_ns", "result"), [(LINGER, COVERED), (LINGER + 1, ACCEPTED)])
def test_a_gap_is_retransmitted_again_only_after_the_linger_time(waited_ns, result):
    handler = Handler()
    handler.nak(1024, 2048)

    handler.pass_time(waited_ns)

    assert handler.nak(1024, 2048) == result


def test_the_linger_time_starts_after_the_delay():
    handler = Handler(delay_ns=20)
    handler.nak(1024, 2048)
    handler.pass_time(21)

    handler.pass_time(LINGER)
    assert handler.nak(1024, 2048) == COVERED
    handler.pass_time(1)
    assert handler.nak(1024, 2048) == ACCEPTED


@pytest.mark.parametrize(("offset", "term_id"), [(0, 7), (1024 + 2048, 7), (1024, 8), (1024, 6)])
def test_with_one_receiver_another_gap_replaces_the_first(offset, term_id):
    handler = Handler()
    handler.nak(1024, 2048)

    assert handler.nak(offset, 32, term_id=term_id) == ACCEPTED
    assert handler.nak(1024, 2048) == ACCEPTED

    assert handler.resent == [(7, 1024, 2048), (term_id, offset, 32), (7, 1024, 2048)]


def test_a_group_has_as_many_open_gaps_as_the_pool_has_slots():
    handler = Handler(is_group=True, max_resend=3)

    results = [handler.nak(n * 1024, 1024) for n in range(4)]

    assert results == [ACCEPTED, ACCEPTED, ACCEPTED, OVERFLOW]
    assert len(handler.resent) == 3


def test_slots_of_the_pool_are_free_after_the_linger_time():
    handler = Handler(is_group=True, max_resend=3)
    for n in range(3):
        handler.nak(n * 1024, 1024)

    assert handler.pass_time(LINGER + 1) == 3
    assert [handler.nak(n * 1024, 1024) for n in range(3, 6)] == [ACCEPTED] * 3
    assert handler.nak(6 * 1024, 1024) == OVERFLOW


def test_the_largest_pool_works():
    handler = Handler(is_group=True, max_resend=wire.MAX_RESEND_LIMIT)

    results = [handler.nak(n * 32, 32) for n in range(wire.MAX_RESEND_LIMIT + 1)]

    assert results == [ACCEPTED] * wire.MAX_RESEND_LIMIT + [OVERFLOW]
    assert handler.pass_time(LINGER + 1) == wire.MAX_RESEND_LIMIT


@pytest.mark.parametrize("max_resend", [0, wire.MAX_RESEND_LIMIT + 1])
def test_a_pool_that_the_array_cannot_hold_is_refused(max_resend):
    with pytest.raises(
        ValueError, match=f"max_resend={max_resend}: must be from 1 to {wire.MAX_RESEND_LIMIT}"
    ):
        Handler(is_group=True, max_resend=max_resend)


@pytest.mark.parametrize(
    ("offset", "length", "windows", "initial_window_length", "resent"),
    [
        (0, 1024, 4, 128 * 1024, 1024),
        (0, TERM, 1, 128 * 1024, TERM // 2),
        (0, TERM, 1, 4096, 4096),
        (0, TERM, 4, 4096, 16384),
        (0, TERM, 16, 128 * 1024, TERM),
        (TERM - 1024, TERM, 16, 128 * 1024, 1024),
        (0, TERM, 2**31 - 1, 2**31 - 1, TERM),
    ],
)
def test_one_nak_resends_a_few_windows_at_most_and_stops_at_the_end_of_the_term(
    offset, length, windows, initial_window_length, resent
):
    handler = Handler(windows=windows, initial_window_length=initial_window_length)

    handler.nak(offset, length)

    assert handler.resent == [(7, offset, resent)]
