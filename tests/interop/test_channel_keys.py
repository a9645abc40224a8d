"""Both drivers accept the same channels and refuse others with the same error code."""

from __future__ import annotations

from contextlib import closing

import pytest
from channel_cases import CASES, answers
from our_client import OurClient

pytestmark = pytest.mark.interop


@pytest.mark.compatible("channel keys refused with the same codes", "either driver")
def test_both_drivers_respond_alike_to_each_channel(our_driver, foreign_driver):
    with closing(OurClient(our_driver())) as client:
        ours = answers(client)
    # Closed resources linger, on ports that the other driver has to open.
    our_driver.peers[-1].stop()
    with closing(OurClient(foreign_driver())) as client:
        theirs = answers(client)

    assert len(ours) == len(CASES)
    assert {case: code for case, code in ours.items() if code != theirs[case]} == {}
