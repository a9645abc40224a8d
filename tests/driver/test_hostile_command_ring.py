"""A client stores impossible positions in the trailer of the command ring, which every client maps."""

import pytest

from aeron_core._native import wire
from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.testing.pair import MS, S

WORDS = [-8, 4, 2**63 - 8, 1 << 40]


@pytest.fixture
def ring(lone):
    return ManyToOneRingBuffer(lone.driver.cnc.to_driver)


@pytest.mark.parametrize("word", WORDS)
def test_an_overwritten_head_is_one_error_and_the_next_commands_succeed(lone, ring, word):
    lone.run_for(100 * MS)
    ring.buffer.put_i64(ring.capacity + wire.RING_HEAD_OFFSET, word)

    lone.run_for(2 * S)

    assert lone.driver.counted("errors") == 1
    (error,) = lone.driver.errors()
    assert "head of the command ring" in error.text
    assert lone.add_publication("aeron:ipc", 1001)


def test_commands_succeed_while_a_client_overwrites_the_head_in_each_duty_cycle(lone, ring):
    lone.run_for(100 * MS)

    def overwrite():
        ring.buffer.put_i64(ring.capacity + wire.RING_HEAD_OFFSET, 4)

    lone.run_for(2 * S, each=overwrite)
    assert lone.driver.counted("errors") <= 4
    registration = lone.client.add_publication_async("aeron:ipc", 1001)
    lone.run_for(1 * S, each=overwrite)
    assert lone.result(registration)


@pytest.mark.parametrize("word", [*WORDS, 0])
def test_an_overwritten_tail_is_one_error_and_the_next_commands_succeed(lone, ring, word):
    lone.run_for(100 * MS)
    assert lone.add_publication("aeron:ipc", 1001)
    ring.buffer.put_i64(ring.capacity + wire.RING_TAIL_OFFSET, word)

    lone.run_for(2 * S)

    assert lone.driver.counted("errors") == 1
    (error,) = lone.driver.errors()
    assert "tail of the command ring" in error.text
    assert lone.add_publication("aeron:ipc", 1002)
