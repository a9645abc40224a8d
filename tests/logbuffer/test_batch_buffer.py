import pytest

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.logbuffer.batch_buffer import BatchBuffer

SOURCE = AtomicBuffer(b"abcdef")


def test_a_message_may_be_assembled_from_pieces():
    batch = BatchBuffer(2, 16)

    batch.append(SOURCE, 0, 2)
    batch.append(SOURCE, 4, 2)
    batch.finish(96, -1, 7)
    batch.append(SOURCE, 1, 1)
    batch.finish(160, -2, 8)

    assert (batch.count, batch.data_length) == (2, 5)
    assert batch.data.get_bytes(0, 5) == b"abefb"
    assert [batch.boundaries.get_i64(at) for at in (0, 8, 16)] == [0, 4, 5]
    assert [batch.positions.get_i64(at) for at in (0, 8)] == [96, 160]
    assert [batch.reserved_values.get_i64(at) for at in (0, 8)] == [-1, -2]
    assert [batch.session_ids.get_i32(at) for at in (0, 4)] == [7, 8]


def test_capacity_is_limited_in_messages_and_in_bytes():
    batch = BatchBuffer(1, 4)

    assert batch.has_space(4)
    assert not batch.has_space(5)
    batch.finish(32, 0, 0)
    assert not batch.has_space(0)


def test_a_cleared_batch_is_filled_from_the_start():
    batch = BatchBuffer(1, 4)
    batch.append(SOURCE, 0, 4)
    batch.finish(64, 0, 0)

    batch.clear()

    assert (batch.count, batch.data_length) == (0, 0)
    assert batch.has_space(4)


def test_bytes_that_do_not_fit_raise():
    with pytest.raises(IndexError):
        BatchBuffer(1, 4).append(SOURCE, 0, 5)


@pytest.mark.parametrize(("capacity", "data_capacity"), [(0, 1), (1, 0), (-1, 1)])
def test_a_batch_without_capacity_is_rejected(capacity, data_capacity):
    with pytest.raises(
        ValueError, match=rf"capacity={capacity} \(in messages\), data_capacity={data_capacity} \(in bytes\)"
    ):
        BatchBuffer(capacity, data_capacity)
