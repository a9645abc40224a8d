"""Every client command, encoded as bytes, and the responses of both drivers."""

from __future__ import annotations

import pytest
from command_script import SCRIPT, RawClient

from aeron_core.protocol import commands
from aeron_core.protocol.cnc import CNC_FILE, CncFile

pytestmark = pytest.mark.interop

#: A raw client sends no keepalives between its commands.
PATIENCE = {"AERON_CLIENT_LIVENESS_TIMEOUT": "100s", "AERON_PUBLICATION_UNBLOCK_TIMEOUT": "200s"}


@pytest.mark.compatible("every command, as bytes", "{driver_driver}")
@pytest.mark.parametrize("driver", ["ours", "theirs"])
def test_both_drivers_answer_a_command_alike(our_driver, foreign_driver, driver):
    directory = {"ours": our_driver, "theirs": foreign_driver}[driver](**PATIENCE)
    client = RawClient(CncFile.open(directory / CNC_FILE))

    answers = {command: client.ask(command, len(expected)) for command, expected in SCRIPT}

    assert {command: got for command, got in answers.items() if got != dict(SCRIPT)[command]} == {}


def test_the_script_contains_every_command():
    assert {type(command) for command, _ in SCRIPT} == set(commands.COMMANDS.values())
