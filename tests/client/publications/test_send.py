"""`send`: an offer that waits until the message is accepted, and raises what prevented it."""

import numpy as np
import pytest

from aeron_core import (
    ClientError,
    ClosedError,
    NotConnectedError,
    SendTimeoutError,
    connect,
)
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.client.publications.offerer import Offerer
from aeron_core.concurrent.mapped_file import open_mapped_file
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.settings import ClientSettings

IPC = "aeron:ipc"
MS = 1_000_000
S = 1_000_000_000


class Waiting:
    """A client whose waits run the driver double, advance the clock and call `on_step`."""

    def __init__(self, double, clock, kind):
        self.double = double
        self.clock = clock
        self.steps = 0
        self.step_ns = MS
        self.on_step = lambda step: None
        self.aeron = connect(
            double.directory,
            ClientSettings(),
            clock=clock,
            use_conductor_invoker=True,
            driver_invoker=self.step,
        )
        self.publication = getattr(self.aeron, f"add_{kind}")(IPC, 5)
        self.steps = 0

    def step(self):
        self.steps += 1
        self.clock.advance(self.step_ns)
        self.double.beat()
        self.on_step(self.steps)
        return self.double.do_work()

    def set_limit(self, position):
        self.double.counters.set_value(self.publication.position_limit_id, position)

    @property
    def log(self):
        _, path = self.double.publications[self.publication.registration_id]
        return LogBuffer(open_mapped_file(path))


@pytest.fixture(params=["publication", "exclusive_publication"])
def waiting(request, double, clock):
    return Waiting(double, clock, request.param)


@pytest.mark.parametrize("data", [b"hello", bytearray(b"hello"), [b"he", b"llo"]])
def test_a_message_that_is_accepted_at_once_is_sent_without_a_wait(waiting, data):
    assert waiting.publication.send(data) == 64
    assert waiting.steps == 0


def test_a_send_waits_until_back_pressure_ends(waiting):
    waiting.set_limit(0)
    waiting.on_step = lambda step: step == 7 and waiting.set_limit(4096)

    assert waiting.publication.send(b"hello", timeout=1, reserved_value=9) == 64
    assert waiting.steps == 7


def test_back_pressure_for_the_whole_timeout_raises_and_nothing_is_appended(waiting):
    waiting.set_limit(0)

    with pytest.raises(SendTimeoutError, match=r"not accepted within 0\.05 s") as caught:
        waiting.publication.send(b"hello", timeout=0.05)

    assert isinstance(caught.value, TimeoutError)
    assert waiting.steps == pytest.approx(50, abs=2)
    assert waiting.publication.position == 0


def test_a_send_without_a_timeout_waits_longer_than_any_timeout_of_the_client(waiting):
    waiting.set_limit(0)
    waiting.step_ns = S
    waiting.on_step = lambda step: step == 60 and waiting.set_limit(4096)

    assert waiting.publication.send(b"hello") == 64
    assert waiting.steps == 60


def test_a_send_waits_for_the_first_subscriber(waiting):
    waiting.log.set_is_connected(False)
    waiting.set_limit(0)

    def on_step(step):
        if step == 5:
            waiting.log.set_is_connected(True)
            waiting.set_limit(4096)

    waiting.on_step = on_step

    assert waiting.publication.send(b"hello", timeout=1) == 64


def test_a_send_without_a_subscriber_raises_after_its_timeout(waiting):
    waiting.log.set_is_connected(False)
    waiting.set_limit(0)

    with pytest.raises(NotConnectedError, match=r"within 0\.01 s, because the publication is not connected"):
        waiting.publication.send(b"hello", timeout=0.01)


def test_an_offerer_without_a_subscriber_raises_after_its_timeout(waiting):
    offerer = Offerer(waiting.publication, 0)
    offerer.offer(b"hello")
    waiting.log.set_is_connected(False)
    waiting.set_limit(0)

    with pytest.raises(
        NotConnectedError, match="aeron:ipc stream 5 was not connected for 0 s after 1 message: start"
    ):
        offerer.offer(b"hello")


def test_an_offerer_offers_a_batch_across_back_pressure(waiting):
    waiting.set_limit(128)
    offerer = Offerer(waiting.publication, 0, back_pressure_timeout=0)
    data, boundaries = b"abcd", AtomicBuffer(np.arange(5, dtype=np.int64))

    with pytest.raises(SendTimeoutError, match="back-pressured for 0 s after 2 messages"):
        offerer.offer_batch(data, boundaries, 4, 7, reserved_step=1)

    assert (offerer.messages, offerer.bytes) == (2, 2)


def test_a_closed_publication_raises_at_once(waiting):
    waiting.publication.close()

    with pytest.raises(ClosedError, match="is closed"):
        waiting.publication.send(b"hello")
    assert waiting.steps == 0


def test_closing_the_publication_ends_a_send(waiting):
    waiting.set_limit(0)
    waiting.on_step = lambda step: step == 3 and waiting.publication.close()

    with pytest.raises(ClosedError):
        waiting.publication.send(b"hello")


def test_a_send_ends_with_the_reason_when_the_client_is_closed(waiting):
    waiting.set_limit(0)
    waiting.on_step = lambda step: step == 3 and waiting.aeron.close()

    with pytest.raises(ClosedError, match="the client of"):
        waiting.publication.send(b"hello")


def test_a_send_continues_in_the_next_term_at_once(waiting):
    waiting.set_limit(1 << 40)
    message = bytes(1000)

    positions = [waiting.publication.send(message) for _ in range(200)]

    assert positions == sorted(set(positions))
    assert positions[-1] > 3 * 65536
    assert waiting.steps == 0


def test_a_message_that_is_too_long_raises_at_once(waiting):
    waiting.set_limit(0)

    with pytest.raises(ValueError, match="must be from 0 to 8192"):
        waiting.publication.send(bytes(8193))
    assert waiting.steps == 0


def test_a_handler_of_the_client_must_not_wait(waiting):
    waiting.set_limit(0)
    raised = []

    def on_available_image(image):
        with pytest.raises(ClientError, match="a handler must not wait") as caught:
            waiting.publication.send(b"hello")
        raised.append(caught.value)

    subscription = waiting.aeron.add_subscription(IPC, 5, on_available_image=on_available_image)
    subscription.await_connected()

    assert len(raised) == 1
