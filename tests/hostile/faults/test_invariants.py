"""The checks of the fault program detect what they are for."""

from __future__ import annotations

import pytest
from laboratory.invariants import check_acknowledged, check_errors, check_images, sent_of
from laboratory.records import ACKED, DAMAGED, RECEIVED, SENT, LogFile, last_of, make_message, read_message

SESSION = 5


@pytest.fixture
def found():
    return []


@pytest.fixture
def logs(tmp_path):
    """Logs of a publisher with three messages, acknowledged up to the second one, and of a subscriber without any."""
    publisher, subscriber = tmp_path / "publisher", tmp_path / "subscriber"
    log = LogFile(publisher)
    for number in range(3):
        log.add(SENT, SESSION, 1, number, 100 * (number + 1))
    log.add(ACKED, SESSION, 1, 3, 200)
    return publisher, subscriber


def receive(path, *messages):
    log = LogFile(path)
    for number, position, *image in messages:
        log.add(RECEIVED, SESSION, 1, number, position, *(image or [9]))


@pytest.mark.parametrize("is_json", [False, True])
def test_a_changed_message_is_not_whole(is_json):
    message = make_message(3, 4, 50, is_json=is_json)

    assert read_message(message) == (3, 4)
    for changed in (message[:-3], message[:-3] + b"abc", message[:30] + b"0" + message[31:]):
        assert read_message(changed) is None


def test_an_image_in_order_is_no_violation(logs, found):
    receive(logs[1], (1, 200), (2, 300), (1, 200, 10))

    assert check_images("it", logs[1], sent_of(logs[0]), found.append) == 3
    assert found == []


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        ([(0, 100), (2, 300)], "gap or disorder from (1, 0) to (1, 2)"),
        ([(1, 200), (0, 300)], "gap or disorder from (1, 1) to (1, 0)"),
        ([(0, 100), (0, 100)], "position went from 100 to 100"),
        ([(0, 128)], "(1, 0) is at 128, was published at 100"),
    ],
)
def test_gaps_disorder_and_wrong_positions_are_violations(logs, found, messages, text):
    receive(logs[1], *messages)

    check_images("it", logs[1], sent_of(logs[0]), found.append)

    assert any(text in violation for violation in found)


def test_a_damaged_message_is_a_violation(logs, found):
    LogFile(logs[1]).add(DAMAGED, SESSION, 0, 50, 100, 9)

    check_images("it", logs[1], None, found.append)

    assert "damaged message of 50 bytes" in found[0]


def test_an_acknowledged_message_that_was_not_received_is_a_violation(logs, found):
    receive(logs[1], (0, 100))

    assert check_acknowledged("it", *logs, found.append) == 2

    assert found == ["it: 1 acknowledged messages are missing, such as [(1, 1)]"]


def test_an_error_of_a_driver_that_no_fault_may_cause_is_a_violation(found):
    check_errors(
        "it",
        ["(11) ENOSPC: no space left", "(22) cannot create images: AttributeError: 'naks'"],
        found.append,
    )

    assert found == ["it logged a defect: (22) cannot create images: AttributeError: 'naks'"]


def test_the_last_record_of_a_kind_is_found(logs):
    last = last_of(logs[0], SENT)

    assert last is not None
    assert last.number == 2
    assert last_of(logs[1], SENT) is None
