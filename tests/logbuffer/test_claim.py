import pytest

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.logbuffer.appender import ConcurrentAppender
from aeron_core.logbuffer.claim import BufferClaim


@pytest.fixture
def appender(make_log):
    limit = AtomicBuffer.allocate(8)
    limit.put_i64(0, 2**62)
    return ConcurrentAppender(make_log(), 11, 22, limit)


def test_claim_is_invisible_until_it_is_committed(appender):
    claim = BufferClaim()

    assert appender.claim(claim, 5) == 64

    assert appender.log.buffer.get_i32(0) == -37
    claim.buffer[:] = b"hello"
    assert claim.commit()
    assert appender.log.buffer.get_i32(0) == 37
    assert appender.log.buffer.get_bytes(32, 5) == b"hello"


def test_the_buffer_of_a_claim_is_exactly_the_payload(appender):
    claim = BufferClaim()
    appender.claim(claim, 5)

    assert len(claim.buffer) == 5
    assert claim.payload().capacity == 5
    assert claim.payload_offset() == 32
    assert claim.is_open


def test_aborted_claim_is_padding(appender):
    claim = BufferClaim()
    appender.claim(claim, 100)

    assert claim.abort()

    assert appender.log.buffer.get_i32(0) == 132
    assert appender.log.buffer.get_u16(wire.FRAME_TYPE_OFFSET) == wire.TYPE_PAD


def test_header_may_be_changed_while_the_claim_is_open(appender):
    claim = BufferClaim()
    appender.claim(claim, 1)
    assert (claim.flags(), claim.header_type(), claim.reserved_value()) == (0xC0, wire.TYPE_DATA, 0)

    claim.set_flags(wire.DATA_FLAG_BEGIN)
    claim.set_header_type(wire.TYPE_PAD)
    claim.set_reserved_value(-3)

    assert (claim.flags(), claim.header_type(), claim.reserved_value()) == (0x80, wire.TYPE_PAD, -3)


def test_second_commit_does_nothing(appender):
    claim = BufferClaim()
    appender.claim(claim, 1)
    claim.commit()
    appender.log.buffer.put_i32(0, 0)  # what the driver does after every subscriber has read it

    assert not claim.commit()
    assert not claim.abort()

    assert appender.log.buffer.get_i32(0) == 0


@pytest.mark.parametrize("use", [BufferClaim.payload, BufferClaim.flags, BufferClaim.reserved_value])
def test_a_claim_that_is_not_open_gives_access_to_nothing(appender, use):
    claim = BufferClaim()
    with pytest.raises(IndexError):
        use(claim)
    appender.claim(claim, 1)
    claim.commit()
    with pytest.raises(IndexError):
        use(claim)


def test_open_claim_cannot_be_lost_by_claiming_again(appender):
    claim = BufferClaim()
    appender.claim(claim, 1)

    with pytest.raises(ValueError, match="claim at offset 0 of the log is open"):
        appender.claim(claim, 1)

    assert appender.position() == 64


def test_context_commits_and_an_exception_aborts(appender):
    claim = BufferClaim()
    appender.claim(claim, 1)
    with claim:
        claim.buffer[:] = b"x"
    appender.claim(claim, 1)
    with pytest.raises(KeyError), claim:
        raise KeyError

    assert appender.log.buffer.get_u16(wire.FRAME_TYPE_OFFSET) == wire.TYPE_DATA
    assert appender.log.buffer.get_u16(64 + wire.FRAME_TYPE_OFFSET) == wire.TYPE_PAD
    assert appender.log.buffer.get_i32(64) == 33


def test_empty_message_may_be_claimed_and_filled(appender):
    claim = BufferClaim()
    appender.claim(claim, 0)

    claim.buffer[:] = b""

    assert claim.commit()
    assert appender.log.buffer.get_i32(0) == 32
