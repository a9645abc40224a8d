from hypothesis import given
from hypothesis import strategies as st

from aeron_core.driver._native import operations
from aeron_core.driver.sender.live_receivers import LiveReceivers

MS = 1_000_000
TIMEOUT_NS = 100 * MS


def test_a_receiver_is_forgotten_after_its_timeout():
    receivers = LiveReceivers(TIMEOUT_NS)
    receivers.note(1, 50)

    assert receivers.forget_silent(50 + TIMEOUT_NS) == 0
    assert receivers.forget_silent(51 + TIMEOUT_NS) == 1
    assert receivers.count() == 0


def test_a_status_message_keeps_a_receiver_alive():
    receivers = LiveReceivers(TIMEOUT_NS)
    receivers.note(1, 0)
    receivers.note(2, 0)
    receivers.note(1, 60 * MS)

    assert receivers.forget_silent(110 * MS) == 1
    assert receivers.forget(1)


def test_all_silent_receivers_are_forgotten_in_one_sweep():
    receivers = LiveReceivers(TIMEOUT_NS)
    for receiver_id in range(4000):
        receivers.note(receiver_id, receiver_id % 2 * 10 * MS)

    assert receivers.forget_silent(105 * MS) == 2000
    assert all(receivers.forget(receiver_id) for receiver_id in range(1, 4000, 2))


def test_sweeps_keep_a_minimum_interval():
    receivers = LiveReceivers(TIMEOUT_NS)
    receivers.note(1, 0)
    receivers.note(2, 1)

    assert receivers.forget_silent(TIMEOUT_NS + 1) == 1
    assert receivers.forget_silent(TIMEOUT_NS + 2) == 0
    assert receivers.forget_silent(TIMEOUT_NS + 2 + operations.RECEIVER_SWEEP_INTERVAL_NS) == 1


def test_the_number_of_tracked_receivers_is_limited():
    receivers = LiveReceivers(TIMEOUT_NS)
    for receiver_id in range(operations.MAX_TRACKED_RECEIVERS):
        assert receivers.note(receiver_id, 0)

    assert not receivers.note(-1, 1)
    assert receivers.note(7, 1)
    assert receivers.count() == operations.MAX_TRACKED_RECEIVERS


# Removing moves entries of the hash map: the sweep must neither miss a moved entry nor remove a live one.
@given(st.dictionaries(st.integers(-(2**63), 2**63 - 1), st.booleans(), max_size=200))
def test_a_sweep_forgets_exactly_the_silent_receivers(is_silent):
    receivers = LiveReceivers(TIMEOUT_NS)
    for receiver_id in is_silent:
        receivers.note(receiver_id, 0)
    for receiver_id in (i for i, silent in is_silent.items() if not silent):
        receivers.note(receiver_id, MS)

    assert receivers.forget_silent(TIMEOUT_NS + 1) == sum(is_silent.values())
    assert all(receivers.forget(receiver_id) != silent for receiver_id, silent in is_silent.items())
