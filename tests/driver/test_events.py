"""Choosing events by name, number, group and mask."""

import pytest

from aeron_core.driver.events import EVENTS, NEVER_LOGGED, choose_events

COMMANDS_IN = {name for name in EVENTS.values() if name.startswith("CMD_IN_")}
COMMANDS_OUT = {name for name in EVENTS.values() if name.startswith("CMD_OUT_")}
LOGGED = set(EVENTS.values()) - NEVER_LOGGED
FRAMES = {"FRAME_IN", "FRAME_OUT"}


@pytest.mark.parametrize(
    ("enabled", "disabled", "chosen"),
    [
        (None, None, set()),
        ("", None, set()),
        ("all", None, LOGGED),
        ("admin", None, LOGGED - FRAMES),
        ("all", "FRAME_IN,2", LOGGED - FRAMES),
        ("FRAME_IN, NAK_SENT", None, {"FRAME_IN", "NAK_SENT"}),
        ("SEND_NAK_MESSAGE,23", None, {"NAK_SENT", "SEND_CHANNEL_CREATION"}),
        ("0x1", None, COMMANDS_IN),
        ("0x3", None, COMMANDS_IN | COMMANDS_OUT),
        ("0xC", None, FRAMES),
        ("0x80", None, {"UNTETHERED_SUBSCRIPTION_STATE_CHANGE"}),
        ("0xFFFF", None, LOGGED),
        ("0x7", "0x2", COMMANDS_IN | {"FRAME_IN"}),
    ],
)
def test_events_are_chosen(enabled, disabled, chosen):
    assert choose_events(enabled, disabled) == (frozenset(chosen), [])


@pytest.mark.parametrize("item", ["GONE", "99", "0", "0x", "0x0", "frame_in"])
def test_an_unknown_event_is_reported(item):
    chosen, [fault] = choose_events(f"FRAME_IN,{item}", None)

    assert chosen == {"FRAME_IN"}
    assert repr(item) in fault


def test_an_event_that_only_the_reference_logs_is_reported():
    chosen, [fault] = choose_events("RESEND", None)

    assert chosen == set()
    assert "RESEND" in fault


def test_a_number_is_read_up_to_its_last_digit_as_in_the_reference():
    assert choose_events("3s", None) == choose_events("3", None)


def test_events_to_exclude_are_ignored_while_no_event_is_logged():
    assert choose_events(None, "nonsense") == (frozenset(), [])
