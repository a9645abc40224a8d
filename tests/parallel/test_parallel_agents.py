"""Structures without locks under threads that really run in parallel: each message once, in order, and whole.

`make sanitize` runs them for longer, with extensions in which the compiler records every access.
"""

import os

import pytest

from aeron_core._native import wire
from aeron_core._native.atomic_long import AtomicLong
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.commands import CommandRing
from aeron_core.concurrent.loss_writer import LossReport
from aeron_core.logbuffer.appender import ConcurrentAppender
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.logbuffer.exclusive_appender import ExclusiveAppender
from aeron_core.logbuffer.metadata import LogBufferParams
from aeron_core.logbuffer.reader import TermReader

from .conftest import Threads

pytestmark = pytest.mark.system

MESSAGES = int(os.environ.get("AERON_CORE_STRESS_MESSAGES", "6000"))
TERM_LENGTH = 65536
WINDOW = TERM_LENGTH // 2
SESSION_ID, STREAM_ID = 11, 22


def make_log(initial_term_id=7, **changes):
    params = LogBufferParams(
        initial_term_id=initial_term_id,
        term_length=TERM_LENGTH,
        mtu_length=1408,
        session_id=SESSION_ID,
        stream_id=STREAM_ID,
        **changes,
    )
    log = LogBuffer.initialize(AtomicBuffer.allocate(params.log_length), params)
    log.set_is_connected(True)
    return log


def make_state(agents):
    state = AtomicBuffer.allocate(agents.STATE_LENGTH)
    state.put_i64(agents.LIMIT_OFFSET, WINDOW)
    state.put_i64(agents.ABANDONED_OFFSET, -1)
    return state


def make_appender(kind, log, state, agents):
    return kind(log, SESSION_ID, STREAM_ID, state.view(agents.LIMIT_OFFSET, 8))


@pytest.mark.parametrize(("kind", "publishers"), [(ConcurrentAppender, 3), (ExclusiveAppender, 1)])
# The second id wraps during the test.
@pytest.mark.parametrize("initial_term_id", [7, 2**31 - 3])
def test_subscribers_of_parallel_publishers_get_each_message_once_in_order_and_whole(
    agents, kind, publishers, initial_term_id
):
    log, state = make_log(initial_term_id), make_state(agents)
    threads = Threads(state)

    threads.start("conductor", agents.conduct, log, state, 2, WINDOW)
    for subscriber, in_batches in enumerate((False, True)):
        threads.start(
            f"subscriber {subscriber}",
            agents.subscribe,
            TermReader(log),
            state,
            subscriber,
            publishers,
            publishers * MESSAGES,
            in_batches,
        )
    for number in range(publishers):
        appender = make_appender(kind, log, state, agents)
        threads.start(f"publisher {number}", agents.publish, appender, log, state, number, MESSAGES)
    threads.join("subscriber 0", "subscriber 1")
    threads.stop()
    threads.join()

    assert log.producer_position() >= max(threads.results["subscriber 0"], threads.results["subscriber 1"])


def test_an_abandoned_claim_is_padded_while_other_publishers_continue(agents):
    log, state = make_log(), make_state(agents)
    threads = Threads(state)
    abandoned = MESSAGES // 20

    threads.start("conductor", agents.conduct, log, state, 1, WINDOW)
    threads.start("subscriber", agents.subscribe, TermReader(log), state, 0, 2, 2 * MESSAGES, True)
    for number in range(2):
        appender = make_appender(ConcurrentAppender, log, state, agents)
        threads.start(f"publisher {number}", agents.publish, appender, log, state, number, MESSAGES)
    crashing = make_appender(ConcurrentAppender, log, state, agents)
    threads.start("crashing", agents.abandon, crashing, log, state, abandoned)
    threads.join("subscriber")
    threads.stop()
    threads.join()

    assert 0 < threads.results["conductor"] <= abandoned


def test_an_image_that_is_rebuilt_from_disordered_packets_equals_its_source(agents):
    source, image = make_log(), make_log()
    state, image_state = make_state(agents), make_state(agents)
    threads = Threads(state, image_state)

    threads.start("conductor", agents.conduct, source, state, 1, WINDOW)
    threads.start("relay", agents.relay, source, image, state, image_state, WINDOW)
    threads.start("subscriber", agents.subscribe, TermReader(image), image_state, 0, 2, 2 * MESSAGES, False)
    for number in range(2):
        appender = make_appender(ConcurrentAppender, source, state, agents)
        threads.start(f"publisher {number}", agents.publish, appender, source, state, number, MESSAGES)
    threads.join("subscriber")
    threads.stop()
    threads.join()

    assert threads.results["relay"] >= threads.results["subscriber"]


def test_commands_arrive_once_in_order_and_whole(agents):
    ring, state = CommandRing(16), make_state(agents)
    threads = Threads(state)

    threads.start("consumer", agents.obey, ring, state, MESSAGES)
    threads.start("producer", agents.command, ring, state, MESSAGES)
    threads.join()

    assert ring.size == 0


def test_a_reader_of_a_number_sees_what_was_written_before_it(agents):
    number, data, state = AtomicLong(), AtomicBuffer.allocate(8 * MESSAGES + 8), make_state(agents)
    threads = Threads(state)

    threads.start("reader", agents.observe, number, data, state, MESSAGES)
    threads.start("writer", agents.announce, number, data, state, MESSAGES)
    threads.join()

    assert number.get_acquire() == MESSAGES


def test_a_reader_of_the_loss_report_sees_whole_entries_with_growing_totals(agents):
    buffer, state = AtomicBuffer.allocate(4096), make_state(agents)
    losses = LossReport(buffer).prepare(session_id=5, stream_id=6, channel="aeron:udp", source="a")
    threads = Threads(state)

    threads.start("reader", agents.audit, buffer, state, 5, MESSAGES)
    threads.start("writer", agents.lose, losses, state, MESSAGES)
    threads.join()

    assert buffer.get_i64(wire.LOSS_OBSERVATION_COUNT_OFFSET) == MESSAGES
