import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ConfigurationError, ProtocolError
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.logbuffer.metadata import NO_END_OF_STREAM, LogBufferParams

PARAMS = LogBufferParams(initial_term_id=7, term_length=65536, mtu_length=1408, session_id=11, stream_id=22)


def test_new_log_starts_at_position_0_with_the_other_tails_one_and_two_terms_back(make_log):
    log = make_log(initial_term_id=7)

    assert [log.raw_tail_acquire(index) for index in range(3)] == [7 << 32, 5 << 32, 6 << 32]
    assert log.active_term_count_acquire() == 0
    assert log.producer_position() == 0


@pytest.mark.parametrize(
    ("term_count", "tails"),
    [(1, [(7, 0), (8, 96), (6, 0)]), (2, [(7, 0), (8, 0), (9, 96)]), (3, [(10, 96), (8, 0), (9, 0)])],
)
def test_log_with_a_start_position_starts_there(make_log, term_count, tails):
    log = make_log(initial_term_id=7, term_id=7 + term_count, term_offset=96)

    assert [log.raw_tail_acquire(index) for index in range(3)] == [(term << 32) + at for term, at in tails]
    assert log.producer_position() == term_count * 65536 + 96


def test_the_log_of_an_image_has_no_tails(make_log):
    log = make_log(log_type=wire.LOG_TYPE_IMAGE)

    assert [log.raw_tail_acquire(index) for index in range(3)] == [0, 0, 0]


def test_every_parameter_is_read_back_from_the_metadata():
    flags = dict.fromkeys(("group", "rejoin", "sparse", "tether"), True)
    params = dataclasses.replace(
        PARAMS,
        **flags,
        log_type=wire.LOG_TYPE_EXCLUSIVE_PUBLICATION,
        correlation_id=-5,
        page_size=8192,
        publication_window_length=1,
        receiver_window_length=2,
        socket_sndbuf_length=3,
        os_default_socket_sndbuf_length=4,
        os_max_socket_sndbuf_length=5,
        socket_rcvbuf_length=6,
        os_default_socket_rcvbuf_length=7,
        os_max_socket_rcvbuf_length=8,
        max_resend=9,
        entity_tag=10,
        response_correlation_id=11,
        linger_timeout_ns=12,
        untethered_window_limit_timeout_ns=13,
        untethered_linger_timeout_ns=14,
        untethered_resting_timeout_ns=15,
    )

    log = LogBuffer.initialize(AtomicBuffer.allocate(params.log_length), params)

    metadata = log.metadata()
    for field in dataclasses.fields(params):
        if field.name not in {"term_id", "term_offset"}:
            assert getattr(metadata, field.name) == getattr(params, field.name), field.name
    assert (metadata.raw_tails[0], metadata.active_term_count) == (7 << 32, 0)
    assert metadata.end_of_stream_position == NO_END_OF_STREAM
    assert (metadata.is_connected, metadata.is_publication_revoked) == (False, False)


@given(st.integers(-(2**31), 2**31 - 1), st.integers(0, 10))
def test_rotation_visits_the_partitions_in_turn_and_term_ids_wrap(make_log, initial_term_id, terms):
    log = make_log(initial_term_id=initial_term_id)
    ids = [(initial_term_id + count + 2**31) % 2**32 - 2**31 for count in range(terms + 1)]

    assert all(log.rotate(count, ids[count]) for count in range(terms))

    assert log.active_term_count_acquire() == terms
    assert log.raw_tail_acquire(terms % 3) == ids[terms] << 32
    assert log.producer_position() == terms * 65536


def test_second_rotation_of_the_same_term_is_ignored(make_log):
    log = make_log(initial_term_id=7)
    log.rotate(0, 7)
    log.buffer.get_and_add_i64(log.metadata_offset + 8, 64)

    assert not log.rotate(0, 7)

    assert log.raw_tail_acquire(1) == (8 << 32) + 64
    assert log.active_term_count_acquire() == 1


def test_rotation_completes_one_that_crashed_after_it_set_the_tail(make_log):
    log = make_log(initial_term_id=7)
    log.buffer.put_i64(log.metadata_offset + 8, 8 << 32)

    assert log.rotate(0, 7)

    assert log.active_term_count_acquire() == 1


def test_the_producer_position_stops_at_the_end_of_an_overrun_term(make_log):
    log = make_log()
    log.buffer.get_and_add_i64(log.metadata_offset, 65536 + 960)

    assert log.producer_position() == 65536


def test_the_state_of_the_stream_is_visible_through_every_mapping(make_log):
    log = make_log(correlation_id=99)
    other = LogBuffer(log.buffer)

    log.set_end_of_stream_position(640)
    log.set_active_transport_count(2)
    log.set_is_revoked(True)
    log.set_is_connected(False)

    assert other.end_of_stream_position_acquire() == 640
    assert other.active_transport_count() == 2
    assert other.is_revoked()
    assert not other.is_connected()
    assert other.correlation_id() == 99


def test_frames_of_the_third_term_are_after_those_of_the_first_two(make_log):
    assert make_log().frame_offset(5 * 65536 + 64) == 2 * 65536 + 64


@pytest.mark.parametrize(
    ("offset", "value", "message"),
    [
        (wire.LOG_TERM_LENGTH_OFFSET, 0, "term length=0"),
        (wire.LOG_TERM_LENGTH_OFFSET, -1, "term length=-1"),
        (wire.LOG_TERM_LENGTH_OFFSET, 131072, "log length=200704: must be 397312"),
        (wire.LOG_PAGE_SIZE_OFFSET, 1000, "page size=1000"),
        (wire.LOG_PAGE_SIZE_OFFSET, 2**21, "log length=200704: must be 2097152"),
        (wire.LOG_MTU_LENGTH_OFFSET, 32, "mtu=32"),
        (wire.LOG_DEFAULT_FRAME_HEADER_LENGTH_OFFSET, 128, "default header length=128"),
    ],
)
def test_corrupt_metadata_is_rejected(make_log, offset, value, message):
    log = make_log()
    log.buffer.put_i32(log.metadata_offset + offset, value)

    with pytest.raises(ProtocolError, match=message):
        LogBuffer(log.buffer)


def test_a_file_too_short_for_any_log_is_rejected():
    with pytest.raises(ProtocolError, match="log length=4096: must be at least 200704"):
        LogBuffer(AtomicBuffer.allocate(4096))


@given(st.binary(min_size=512, max_size=512))
def test_any_bytes_as_metadata_are_read_or_rejected(metadata):
    buffer = AtomicBuffer.allocate(200704)
    buffer.put_bytes(196608, metadata)
    buffer.put_i32(196608 + wire.LOG_TERM_LENGTH_OFFSET, 65536)
    buffer.put_i32(196608 + wire.LOG_PAGE_SIZE_OFFSET, 4096)
    buffer.put_i32(196608 + wire.LOG_DEFAULT_FRAME_HEADER_LENGTH_OFFSET, 32)
    buffer.put_i32(196608 + wire.LOG_MTU_LENGTH_OFFSET, 1408)

    log = LogBuffer(buffer)

    log.metadata()
    log.rotate(log.active_term_count_acquire(), 5)
    assert isinstance(log.producer_position(), int)


def test_memory_of_another_length_cannot_be_initialized():
    with pytest.raises(ConfigurationError, match="log length=4096: must be 200704"):
        LogBuffer.initialize(AtomicBuffer.allocate(4096), PARAMS)


@pytest.mark.parametrize(
    "changes",
    [{"term_length": 1000}, {"mtu_length": 33}, {"page_size": 1}, {"term_offset": 33}, {"term_id": 6}],
)
def test_invalid_log_parameters_are_rejected(changes):
    with pytest.raises(ConfigurationError):
        dataclasses.replace(PARAMS, **changes)


def test_the_default_header_leaves_the_length_of_a_frame_as_it_is(make_log):
    log = make_log()
    header = log.metadata_offset + wire.LOG_DEFAULT_FRAME_HEADER_OFFSET
    log.buffer.put_i32(header, 4096)
    log.buffer.put_i32(64, -128)

    log.apply_default_header(64)

    # A positive length would show readers a frame that is not complete.
    assert log.buffer.get_i32(64) == -128
    assert log.buffer.get_bytes(68, 28) == log.buffer.get_bytes(header + 4, 28)
