"""Shared and lingering mappings of log buffers."""

import pytest

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.client.conductor.log_buffers import LogBuffers
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.logbuffer.metadata import LogBufferParams

LINGER_NS = 1000


@pytest.fixture
def opened():
    return []


@pytest.fixture
def log_buffers(opened):
    def open_log(path):
        opened.append(path)
        params = LogBufferParams(
            initial_term_id=0, term_length=65536, mtu_length=1408, session_id=1, stream_id=2
        )
        return LogBuffer.initialize(AtomicBuffer.allocate(params.log_length), params).buffer

    return LogBuffers(LINGER_NS, pre_touch=True, opener=open_log)


def test_users_of_one_log_share_its_mapping(log_buffers, opened):
    assert log_buffers.acquire(1, "a") is log_buffers.acquire(1, "a")

    assert opened == ["a"]


def test_a_log_lingers_after_its_last_user(log_buffers):
    log_buffers.acquire(1, "a")
    log_buffers.acquire(1, "a")
    log_buffers.release(1, 0)
    assert log_buffers.sweep(10 * LINGER_NS) == 0
    log_buffers.release(1, 5000)

    assert log_buffers.sweep(5000 + LINGER_NS - 1) == 0
    assert log_buffers.sweep(5000 + LINGER_NS) == 1
    assert len(log_buffers) == 0


def test_a_lingering_log_is_reused_without_mapping_it_again(log_buffers, opened):
    log_buffers.acquire(1, "a")
    log_buffers.release(1, 0)

    log_buffers.acquire(1, "a")

    assert log_buffers.sweep(10 * LINGER_NS) == 0
    assert opened == ["a"]


def test_releasing_an_unknown_log_does_nothing(log_buffers):
    log_buffers.release(5, 0)

    assert len(log_buffers) == 0
