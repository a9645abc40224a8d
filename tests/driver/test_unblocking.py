"""Unblocking: a client that dies while it writes does not block other clients permanently."""

import pytest

from aeron_core._native import wire
from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.testing import Feed, Sink
from aeron_core.testing.pair import MS, S

UDP = "aeron:udp?endpoint=127.0.0.1:20121"


@pytest.fixture(params=["aeron:ipc", UDP])
def stream(request, lone):
    subscription = lone.add_subscription(request.param, 1001)
    publication = lone.add_publication(request.param, 1001)
    lone.run_until(lambda: publication.is_connected and subscription.is_connected)
    lone.run_until(lambda: publication.available_window)
    return publication, Sink(subscription)


def test_a_claim_that_is_never_committed_is_unblocked_after_15_seconds(lone, stream):
    publication, sink = stream
    publication.offer(b"before")
    claim = publication.try_claim(100)
    publication.offer(b"after")
    lone.run_for(100 * MS, each=sink.poll)
    assert sink.all == [b"before"]

    took_ns = lone.run_until(lambda: sink.poll() == 0 and len(sink.all) == 2, within_ns=20 * S)

    assert claim
    assert sink.all == [b"before", b"after"]
    assert 14 * S < took_ns < 17.5 * S
    assert lone.driver.counted("unblocked_publications") == 1


def test_a_claim_at_the_end_of_a_term_is_unblocked_too(lone, stream):
    publication, sink = stream
    while publication.position + 2048 < 64 * 1024:
        publication.offer(bytes(992))
        lone.step()
        sink.poll()
    claim = publication.try_claim(900)
    assert claim
    rest = Feed(publication, [bytes([n]) * 992 for n in (1, 2, 3)])

    lone.run_until(lambda: rest.offer() + sink.poll() == 0 and rest.is_done, within_ns=20 * S)
    lone.run_until(lambda: sink.poll() == 0 and sink.all[-3:] == rest.messages, within_ns=20 * S)

    assert sink.subscription.images[0].position == publication.position > 64 * 1024
    assert lone.driver.counted("unblocked_publications") == 1


def test_a_claim_of_a_slow_but_living_stream_is_left_alone(lone, stream):
    publication, sink = stream
    for _ in range(4):
        claim = publication.try_claim(10)
        lone.run_for(10 * S, each=sink.poll)
        claim.buffer[:] = b"slow bytes"
        claim.commit()
    lone.run_for(1 * S, each=sink.poll)

    assert sink.all == [b"slow bytes"] * 4
    assert lone.driver.counted("unblocked_publications") == 0


def test_a_claim_of_a_client_that_died_is_unblocked_when_its_publication_drains(lone, stream):
    publication, sink = stream
    publication.offer(b"before")
    claim = publication.try_claim(100)
    lone.run_for(100 * MS, each=sink.poll)
    assert claim
    publication.close()

    lone.run_until(lambda: sink.poll() == 0 and not sink.subscription.is_connected, within_ns=30 * S)

    assert sink.all == [b"before"]
    assert lone.driver.counted("unblocked_publications") == 1


@pytest.mark.parametrize("fragments_written", [0, 2])
def test_a_stream_ends_even_if_a_dead_client_began_its_last_message(lone, stream, fragments_written):
    publication, sink = stream
    publication.offer(b"before")
    lone.run_for(100 * MS, each=sink.poll)
    begin = publication.position
    publication.offer(bytes(5000))
    # The state of a publisher that was killed after it had moved the tail and written only this.
    (log,) = (path for path in lone.driver.log_files() if "publications" in str(path))
    with log.open("r+b") as file:
        file.seek(begin + fragments_written * 1408)
        file.write(bytes(begin + 5120 - file.tell()))
    publication.close()

    lone.run_until(lambda: sink.poll() == 0 and not sink.subscription.is_connected, within_ns=30 * S)

    assert sink.all == [b"before"]
    assert lone.driver.counted("unblocked_publications") == 1


@pytest.mark.parametrize("writes_length", [True, False])
def test_an_unfinished_command_is_skipped_after_the_liveness_timeout(lone, writes_length):
    lone.add_publication("aeron:ipc", 1)
    ring = ManyToOneRingBuffer(lone.driver.cnc.to_driver)
    index = ring.try_claim(wire.COMMAND_CLIENT_KEEPALIVE, 100) - wire.RECORD_HEADER_LENGTH
    if not writes_length:
        ring.buffer.put_i32(index, 0)
        ring.buffer.put_i32(index + 4, 0)
    registration = lone.client.add_publication_async("aeron:ipc", 2)
    start_ns = lone.now_ns

    def answered():
        # Extend the deadline: otherwise it passes before the driver gives up the unfinished command.
        registration.deadline_ns = lone.now_ns + S
        return registration.is_done

    lone.run_until(answered, within_ns=20 * S)

    assert 10 * S < lone.now_ns - start_ns < 13 * S
    assert lone.driver.counted("unblocked_commands") == 1


def test_an_invalid_record_in_the_command_ring_is_skipped(lone):
    lone.add_publication("aeron:ipc", 1)
    ring = ManyToOneRingBuffer(lone.driver.cnc.to_driver)
    index = ring.try_claim(wire.COMMAND_CLIENT_KEEPALIVE, 16) - wire.RECORD_HEADER_LENGTH
    ring.buffer.put_i32(index, 0x7FFF_FFF0)
    lone.run_for(10 * MS)

    lone.add_publication("aeron:ipc", 2)

    assert len(lone.driver.errors()) == 1
