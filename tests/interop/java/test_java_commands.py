"""Every client command, encoded as bytes, at the Java driver, and error codes of our driver that a Java client shows.

Not here: the error codes of the Java driver. In Aeron 1.51.0 they differ from those of the C driver in 85 of 346 cases,
most by INVALID_CHANNEL in place of GENERIC_ERROR; the Java driver also takes any text but `true` as false.
"""

from __future__ import annotations

import pytest
from channel_cases import CASES, answers
from command_script import CLIENT, ELSEWHERE, IPC, SCRIPT, STRANGER, RawClient, no_counter, no_image

from aeron_core.errors import ErrorCode
from aeron_core.protocol import commands as c
from aeron_core.protocol.cnc import CNC_FILE, CncFile

pytestmark = pytest.mark.interop

#: Commands that the Java driver accepts: any client may remove a resource, and any text but `true` is false.
ACCEPTED = [
    c.RemoveCounter(STRANGER, 108, 102),
    c.AddSubscription(CLIENT, 200, -1, 1001, "aeron:ipc?reliable=x"),
    c.RemovePublication(STRANGER, 208, 202),
]
#: Commands that the Java driver refuses with another code.
REFUSED = {
    c.AddDestination(CLIENT, 310, 302, ELSEWHERE): ErrorCode.INVALID_CHANNEL,
    c.RemoveDestination(CLIENT, 311, 302, ELSEWHERE): ErrorCode.INVALID_CHANNEL,
    c.AddDestination(CLIENT, 316, 312, IPC): ErrorCode.INVALID_CHANNEL,
    c.RemoveDestination(CLIENT, 320, 312, IPC): ErrorCode.INVALID_CHANNEL,
    c.AddRcvDestination(CLIENT, 400, 304, ELSEWHERE): ErrorCode.UNKNOWN_SUBSCRIPTION,
}


@pytest.mark.compatible("every command, as bytes", "Java driver")
def test_the_java_driver_answers_each_command_that_our_driver_accepts(further_drivers, tmp_path):
    # A raw client sends no keepalives between its commands.
    directory = further_drivers.start_java(
        tmp_path / "java", client_liveness_timeout="100s", publication_unblock_timeout="200s"
    )
    client = RawClient(CncFile.open(directory / CNC_FILE))
    script = [(command, answer) for command, answer in SCRIPT if command not in ACCEPTED]
    expected = dict(script) | {
        command: [("OnError", command.correlation_id, code)] for command, code in REFUSED.items()
    }
    # The Java driver also ends the images of the closed client's own spies.
    expected[c.ClientClose(CLIENT, 503)] = [
        no_counter(CLIENT),
        no_image(301, 1002),
        no_image(303, 1002),
        no_counter(102),
    ]
    assert len(expected) == len(SCRIPT) - len(ACCEPTED)

    got = {command: client.ask(command, len(expected[command])) for command, _ in script}

    assert {command: answer for command, answer in got.items() if answer != expected[command]} == {}


@pytest.mark.compatible("channel keys refused with the same codes", "Java client, our driver")
def test_a_java_client_gets_the_codes_that_our_client_gets(further_drivers, clients, tmp_path):
    driver = further_drivers.start_ours(tmp_path / "ours")
    ours = answers(clients("ours", driver))
    # Closed resources linger, on ports that the next client asks for.
    further_drivers.stop(driver)
    driver = further_drivers.start_ours(tmp_path / "another")
    java = answers(clients("java", driver))

    assert len(java) == len(CASES)
    assert {case: code for case, code in java.items() if code != ours[case]} == {}
