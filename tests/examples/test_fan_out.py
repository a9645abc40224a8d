"""Receivers that come and go under multi-destination-cast."""

from __future__ import annotations

from example_programs import in_half_a_minute

EXPECTED = [
    "london  " + "█" * 60 + "  1,200 of 1,200",
    "paris   " + "·" * 12 + "█" * 48 + "    960 of 1,200",
    "tokyo   " + "·" * 24 + "█" * 18 + "·" * 18 + "    360 of 1,200",
    "lima    " + "·" * 36 + "█" * 24 + "    480 of 1,200",
]


def test_each_receiver_gets_the_messages_of_its_time(example, capsys):
    program = example("fan_out.py")

    with in_half_a_minute():
        program.main()

    assert capsys.readouterr().out.splitlines() == [
        "dynamic: receivers register themselves",
        *EXPECTED,
        "",
        "manual: the application names the destinations",
        *EXPECTED,
        "",
    ]
