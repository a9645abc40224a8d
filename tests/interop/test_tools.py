"""The tools print the same for the directories of the real driver and of ours, alive and killed."""

from __future__ import annotations

import pytest
from tool_checks import check_tools, open_stream, run_tool

import aeron_core

pytestmark = pytest.mark.interop


@pytest.mark.compatible("tools, of a live and of a killed driver", "{driver_driver}")
@pytest.mark.parametrize("driver", ["ours", "theirs"])
def test_the_tools_read_the_directory_of_a_live_and_a_killed_driver(
    our_driver, foreign_driver, udp_channel, driver
):
    start = our_driver if driver == "ours" else foreign_driver
    directory = start()
    for publication in open_stream(directory, udp_channel):
        check_tools(directory, publication)
        alive = run_tool("clean", directory=directory)
        start.peers[-1].kill()
        check_tools(directory, publication)

    assert (alive.returncode, "active media driver" in alive.stderr) == (1, True)


@pytest.mark.compatible("terminate, denied by default", "{driver_driver}")
@pytest.mark.parametrize("driver", ["ours", "theirs"])
def test_a_driver_ignores_a_termination_request_by_default(our_driver, foreign_driver, driver):
    start = our_driver if driver == "ours" else foreign_driver
    directory = start()

    outcome = run_tool("terminate", "--timeout", 1, directory=directory)

    assert (outcome.returncode, "TERMINATION_VALIDATOR" in outcome.stderr) == (1, True)
    assert start.peers[-1].process.poll() is None
    with aeron_core.connect(directory) as aeron:
        assert not aeron.is_closed
