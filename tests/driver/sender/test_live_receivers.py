from hypothesis import given
from hypothesis import strategies as st

from aeron_core.driver._native import operations
from aeron_core.driver.sender.live_receivers import LiveReceivers

MS = 1_000_000
TIMEOUT_NS = 100 * MS


def test_a_receiver_is_silent_once_its_timeout_is_over():
    receivers = LiveReceivers(TIMEOUT_NS)
    receivers.note(1, 50)

    assert receivers.forget_silent(50 + TIMEOUT_NS) == 0
    assert receivers.forget_silent(51 + TIMEOUT_NS) == 1
    assert receivers.count() == 0


def test_a_sign_of_life_keeps_a_receiver():
    receivers = LiveReceivers(TIMEOUT_NS)
    receivers.note(1, 0)
    receivers.note(2, 0)
    receivers.note(1, 60 * MS)

    assert receivers.forget_silent(110 * MS) == 1
    assert receivers.forget(1)


def test_all_that_are_silent_go_in_one_walk():
    receivers = LiveReceivers(TIMEOUT_NS)
    for receiver_id in range(4000):
        receivers.note(receiver_id, receiver_id % 2 * 10 * MS)

    assert receivers.forget_silent(105 * MS) == 2000
    assert all(receivers.forget(receiver_id) for receiver_id in range(1, 4000, 2))


def test_one_who_was_walked_past_is_not_looked_for_again_at_once():
    receivers = LiveReceivers(TIMEOUT_NS)
    receivers.note(1, 0)
    receivers.note(2, 1)

    assert receivers.forget_silent(TIMEOUT_NS + 1) == 1
    assert receivers.forget_silent(TIMEOUT_NS + 2) == 0
    assert receivers.forget_silent(TIMEOUT_NS + 2 + operations.RECEIVER_SWEEP_INTERVAL_NS) == 1


def test_no_more_are_tracked_than_there_may_be():
    receivers = LiveReceivers(TIMEOUT_NS)
    for receiver_id in range(operations.MAX_TRACKED_RECEIVERS):
        assert receivers.note(receiver_id, 0)

    assert not receivers.note(-1, 1)
    assert receivers.note(7, 1)
    assert receivers.count() == operations.MAX_TRACKED_RECEIVERS


# What the sweep must not do is miss an entry that was moved, or take one that is alive.
@given(st.dictionaries(st.integers(-(2**63), 2**63 - 1), st.booleans(), max_size=200))
def test_a_walk_finds_whom_it_should(is_silent):
    receivers = LiveReceivers(TIMEOUT_NS)
    for receiver_id in is_silent:
        receivers.note(receiver_id, 0)
    for receiver_id in (i for i, silent in is_silent.items() if not silent):
        receivers.note(receiver_id, MS)

    assert receivers.forget_silent(TIMEOUT_NS + 1) == sum(is_silent.values())
    assert all(receivers.forget(receiver_id) != silent for receiver_id, silent in is_silent.items())
