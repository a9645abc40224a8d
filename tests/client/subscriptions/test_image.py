"""Polling an image and a subscription over logs in memory."""

import gc
import sys

import numpy as np
import pytest

from aeron_core import Action
from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.counter import AtomicCounter
from aeron_core.client.subscriptions.image import Image
from aeron_core.errors import ConfigurationError, ProtocolError


def offer_all(stream, *messages):
    for message in messages:
        assert stream.publication.offer(message) > 0


def test_a_poll_delivers_fragments_in_order_and_publishes_the_position_behind_them(stream):
    offer_all(stream, b"a", b"bb", b"ccc")
    seen = []

    count = stream.subscription.poll(lambda buffer, header: seen.append((bytes(buffer), header.position)), 2)

    assert (count, seen) == (2, [(b"a", 64), (b"bb", 128)])
    assert stream.position_counter.get() == stream.image.position == 128


def test_a_closed_image_frees_its_log_without_the_cycle_collector(make_log):
    log = make_log()
    before = sys.getrefcount(log)
    image = Image(None, 11, log, AtomicCounter(AtomicBuffer.allocate(128), 0), "aeron:ipc", 1)
    image.poll(print)
    gc.disable()
    try:
        image.close()
        del image

        assert sys.getrefcount(log) == before
    finally:
        gc.enable()


def test_an_image_that_a_handler_closes_delivers_no_further_fragment(stream):
    offer_all(stream, b"a", b"b")
    seen = []

    def on_fragment(buffer, header):
        stream.image.close()
        seen.append((bytes(buffer), header.position))

    def on_controlled(buffer, header):
        on_fragment(buffer, header)
        return Action.ABORT

    assert stream.subscription.poll(on_fragment) == 1
    assert stream.subscription.controlled_poll(on_controlled) == 0
    assert seen == [(b"a", 64)]


def test_the_header_has_the_session_and_position_of_the_fragment(stream):
    stream.publication.offer(b"abc", reserved_value=5)
    seen = []

    def on_fragment(buffer, header):
        seen.append(
            (header.session_id, header.stream_id, header.term_id, header.term_offset, header.frame_length)
        )
        seen.append((header.flags, header.type, header.reserved_value, header.initial_term_id))
        seen.append(header.image)

    stream.subscription.poll(on_fragment)

    assert seen == [(11, 22, 7, 0, 35), (0xC0, 1, 5, 7), stream.image]


def test_a_copy_of_a_header_stays_valid_after_the_poll(stream):
    offer_all(stream, b"a", b"b")
    kept = []

    stream.subscription.poll(lambda buffer, header: kept.append(header.copy()))

    assert [header.position for header in kept] == [64, 128]


def test_a_referenced_view_keeps_its_fragment(stream):
    offer_all(stream, b"first", b"second", b"third")
    kept = []

    stream.subscription.poll(lambda buffer, header: kept.append(buffer))

    assert [bytes(view) for view in kept] == [b"first", b"second", b"third"]


def test_an_unreferenced_view_is_reused_with_a_new_length_and_hash(stream):
    offer_all(stream, b"first", b"x", b"third")
    seen = []

    stream.subscription.poll(
        lambda buffer, header: seen.append((len(buffer), hash(buffer), bytes(buffer[:2])))
    )

    assert seen == [(5, hash(b"first"), b"fi"), (1, hash(b"x"), b"x"), (5, hash(b"third"), b"th")]


def test_a_handler_may_release_its_view(stream):
    offer_all(stream, b"first", b"second")
    seen = []

    def on_fragment(buffer, header):
        seen.append(bytes(buffer))
        buffer.release()

    stream.subscription.poll(on_fragment)

    assert seen == [b"first", b"second"]


def test_a_view_is_read_only(stream):
    offer_all(stream, b"first")

    def on_fragment(buffer, header):
        buffer[0] = 1

    with pytest.raises(TypeError):
        stream.subscription.poll(on_fragment)


def test_a_view_and_a_numpy_array_of_it_outlive_stream_and_log(stream):
    offer_all(stream, b"kept", b"more")
    kept = []
    stream.subscription.poll(lambda buffer, header: kept.append((buffer, np.frombuffer(buffer, np.uint8))))

    stream.log = stream.publication = stream.subscription = stream.image = stream.values = None
    gc.collect()

    assert [bytes(view) for view, _ in kept] == [array.tobytes() for _, array in kept] == [b"kept", b"more"]


def test_an_exception_of_a_handler_propagates_and_its_fragment_counts_as_delivered(stream):
    offer_all(stream, b"a", b"b", b"c")

    def on_fragment(buffer, header):
        if bytes(buffer) == b"b":
            raise RuntimeError("handler")

    with pytest.raises(RuntimeError, match="handler"):
        stream.subscription.poll(on_fragment)

    assert stream.image.position == 128
    assert stream.read() == [b"c"]


def test_a_bounded_poll_delivers_no_fragment_at_the_limit(stream):
    offer_all(stream, b"a", b"b", b"c")

    assert stream.subscription.bounded_poll(lambda buffer, header: None, 128) == 2
    assert stream.image.bounded_poll(lambda buffer, header: None, 128) == 0
    assert stream.image.bounded_poll(lambda buffer, header: None, -1) == 0

    assert stream.image.position == 128


def controlled(stream, actions, limit=10):
    """Return each fragment with the published position at its delivery, for a list of actions."""
    seen = []
    answers = iter(actions)

    def on_fragment(buffer, header):
        seen.append((bytes(buffer), stream.position_counter.get()))
        return next(answers)

    return stream.subscription.controlled_poll(on_fragment, limit), seen


def test_abort_delivers_the_fragment_again(stream):
    offer_all(stream, b"a", b"b")

    assert controlled(stream, [Action.CONTINUE, Action.ABORT]) == (1, [(b"a", 0), (b"b", 0)])
    assert stream.image.position == 64
    assert controlled(stream, [None]) == (1, [(b"b", 64)])


def test_break_stops_after_the_fragment(stream):
    offer_all(stream, b"a", b"b")

    assert controlled(stream, [Action.BREAK]) == (1, [(b"a", 0)])
    assert stream.image.position == 64


def test_commit_publishes_the_position_before_the_next_fragment(stream):
    offer_all(stream, b"a", b"b", b"c")

    assert controlled(stream, [Action.CONTINUE, Action.COMMIT, Action.CONTINUE]) == (
        3,
        [(b"a", 0), (b"b", 0), (b"c", 128)],
    )


def test_an_exception_of_a_controlled_handler_counts_its_fragment_as_delivered(stream):
    offer_all(stream, b"a", b"b")

    def on_fragment(buffer, header):
        raise RuntimeError("handler")

    with pytest.raises(RuntimeError, match="handler"):
        stream.image.controlled_poll(on_fragment)

    assert stream.image.position == 64


def test_a_block_holds_whole_frames_and_ends_before_padding(exclusive_stream):
    offer_all(exclusive_stream, b"a", b"b")
    exclusive_stream.publication.append_padding(32)
    blocks = []

    def on_block(buffer, session_id, term_id):
        blocks.append((len(buffer), session_id, term_id))

    assert exclusive_stream.subscription.block_poll(on_block, 65536) == 128
    assert exclusive_stream.subscription.block_poll(on_block, 65536) == 64

    assert blocks == [(128, 11, 7), (64, 11, 7)]
    assert exclusive_stream.image.position == 192


def test_a_frame_length_beyond_its_term_raises_protocol_error(stream):
    stream.log.buffer.put_i32(0, stream.log.term_length + 32)

    for poll in (stream.subscription.poll, stream.subscription.controlled_poll):
        with pytest.raises(ProtocolError):
            poll(lambda buffer, header: None)
    with pytest.raises(ProtocolError):
        stream.subscription.poll_batch()


def test_a_closed_image_delivers_nothing_and_keeps_its_last_state(stream):
    offer_all(stream, b"a", b"b")
    stream.image.poll(lambda buffer, header: None, 1)
    stream.log.set_end_of_stream_position(64)
    stream.log.set_active_transport_count(1)

    stream.image.close()
    stream.position_counter.set(12345)
    stream.log.set_end_of_stream_position(999)

    assert stream.image.poll(lambda buffer, header: None) == 0
    assert stream.image.position == stream.image.end_of_stream_position == 64
    assert stream.image.is_end_of_stream
    assert stream.image.active_transport_count == 0
    assert stream.position_counter.get() == 12345


def test_an_image_closed_by_its_handler_does_not_move_the_position(stream):
    offer_all(stream, b"a", b"b")

    def on_fragment(buffer, header):
        stream.image.close()

    assert stream.subscription.poll(on_fragment) == 1
    assert stream.position_counter.get() == 0


def test_the_end_of_a_stream_is_reached_with_its_last_fragment(stream):
    offer_all(stream, b"a")
    stream.log.set_end_of_stream_position(64)

    assert not stream.image.is_end_of_stream
    stream.read()

    assert stream.image.is_end_of_stream


def test_a_revoked_publication_is_detected_at_once(stream):
    assert not stream.image.is_revoked

    stream.log.set_is_revoked(True)

    assert stream.image.is_revoked


def test_an_image_begins_at_the_value_of_its_counter(stream):
    offer_all(stream, b"a", b"b")
    stream.position_counter.set(64)

    assert stream.image.join_position == 0
    assert stream.read() == [b"b"]


def test_padding_frames_are_never_delivered(exclusive_stream):
    exclusive_stream.publication.append_padding(0)

    assert exclusive_stream.read() == []
    assert exclusive_stream.image.position == 32
    assert exclusive_stream.log.buffer.get_u16(wire.FRAME_TYPE_OFFSET) == wire.TYPE_PAD


def test_a_peek_returns_whole_frames_and_does_not_move_the_position(stream):
    offer_all(stream, b"a", b"bb")

    block = stream.image.block_peek(0, 4096)

    assert (len(block), bytes(block[32:33]), bytes(block[96:98])) == (128, b"a", b"bb")
    assert stream.image.position == 0


def test_the_position_can_be_moved_behind_a_peeked_block_and_the_next_poll_continues_there(stream):
    offer_all(stream, b"a", b"bb")
    seen = []

    stream.image.position = 64
    stream.subscription.poll(lambda buffer, header: seen.append(bytes(buffer)))

    assert (seen, stream.position_counter.get()) == ([b"bb"], 128)


def test_a_peek_may_begin_before_or_behind_the_position(stream):
    offer_all(stream, b"a", b"bb")
    stream.image.position = 128

    assert len(stream.image.block_peek(0, 4096)) == 128
    assert len(stream.image.block_peek(128, 4096)) == 0


def test_a_peek_into_a_term_that_has_not_begun_is_empty(stream):
    offer_all(stream, b"a")
    term_length = stream.image.term_length

    assert len(stream.image.block_peek(term_length, 4096)) == 0


@pytest.mark.parametrize("position", [-32, 16, 1 << 40])
def test_an_invalid_position_raises_with_the_valid_range(stream, position):
    with pytest.raises(ConfigurationError, match=f"position={position}: must be a multiple of 32 from 0 to "):
        stream.image.position = position


@pytest.mark.parametrize("position", [1 << 40, 48, -32])
def test_a_peek_farther_than_a_term_from_the_position_raises(stream, position):
    with pytest.raises(ConfigurationError, match=f"initial_position={position}: must be a multiple of 32"):
        stream.image.block_peek(position, 4096)


def test_a_closed_image_keeps_its_position_and_peeks_are_empty(stream):
    offer_all(stream, b"a")
    stream.image.close()

    stream.image.position = 64

    assert (stream.image.position, len(stream.image.block_peek(0, 4096))) == (0, 0)
