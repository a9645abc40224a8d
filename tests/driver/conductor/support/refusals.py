"""Commands to a driver, and the errors by which it refuses them."""

import pytest

from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.errors import RegistrationError
from aeron_core.testing.pair import MS


def refusal(simulation, registration):
    """Return the error by which the driver refuses a command; the command is in a simulation or its lone driver."""
    simulation.run_until(lambda: registration.is_done)
    with pytest.raises(RegistrationError) as raised:
        registration.poll()
    return raised.value


def send(lone, command):
    """Send a command without a client, and run the driver."""
    assert ManyToOneRingBuffer(lone.driver.cnc.to_driver).write(command.TYPE_ID, command.encode())
    lone.run_for(10 * MS)
