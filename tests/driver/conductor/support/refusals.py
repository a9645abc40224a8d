"""Commands to a driver, and the errors by which it refuses them."""

import pytest

from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.errors import RegistrationError
from aeron_core.testing.pair import MS


def refusal(lone, registration):
    lone.run_until(lambda: registration.is_done)
    with pytest.raises(RegistrationError) as raised:
        registration.poll()
    return raised.value


def send(lone, command):
    assert ManyToOneRingBuffer(lone.driver.cnc.to_driver).write(command.TYPE_ID, command.encode())
    lone.run_for(10 * MS)
