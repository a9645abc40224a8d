"""Batches without a network; sockets are tested with their medium."""

import pytest

from aeron_core._native.address import SocketAddress
from aeron_core._native.datagrams import (
    BATCH_CAPACITY,
    SLOT_LENGTH,
    DatagramChannel,
    PythonDatagramChannel,
    ReceiveBatch,
    TransformedDatagrams,
)
from aeron_core.spi.stream_counter import detached_counter
from aeron_core.testing import DatagramProbe, RunBatch, Taken

HERE, THERE = SocketAddress.of("127.0.0.1", 1), SocketAddress.of("::1", 2)


class Wire:
    """A delegate that returns `waiting` and records what is sent."""

    def __init__(self, waiting=()):
        self.waiting, self.sent, self.is_open = list(waiting), [], True

    def receive(self, limit):
        taken, self.waiting = self.waiting[:limit], self.waiting[limit:]
        return taken

    def send(self, datagram, destination):
        self.sent.append((datagram, destination))

    def local_address(self):
        return HERE

    def close(self):
        self.is_open = False


def test_a_batch_holds_as_many_datagrams_as_it_has_slots():
    batch = ReceiveBatch(2)

    assert batch.fill([(b"one", HERE), (b"two", THERE), (b"three", HERE)]) == 2

    assert (batch.slots, batch.count) == (2, 2)
    assert batch.buffer.get_bytes(SLOT_LENGTH, 3) == b"two"


@pytest.mark.parametrize("slots", [0, -1, BATCH_CAPACITY + 1])
def test_a_batch_with_no_or_too_many_slots_is_rejected(slots):
    with pytest.raises(ValueError, match=f"slots={slots}: must be from 1 to {BATCH_CAPACITY}"):
        ReceiveBatch(slots)


def test_a_full_batch_rejects_another_entry():
    with pytest.raises(IndexError, match=f"the batch is full: it has {BATCH_CAPACITY} entries"):
        RunBatch([(b"x", 1)] * (BATCH_CAPACITY + 1))


def test_a_delegate_gets_each_datagram_of_a_run():
    wire = Wire()

    taken = DatagramProbe(PythonDatagramChannel(wire)).send([(b"aabbc", 2), (b"d", 1), (b"", 1)], THERE)

    assert taken == Taken(3, 6)
    assert wire.sent == [(part, THERE) for part in (b"aa", b"bb", b"c", b"d", b"")]


def test_datagrams_of_a_delegate_are_received_with_their_source():
    probe = DatagramProbe(PythonDatagramChannel(Wire([(b"one", HERE), (b"", THERE)])))

    slots = probe.receive()

    assert [(slot.datagrams, slot.source) for slot in slots] == [([b"one"], HERE), ([b""], THERE)]
    assert probe.receive() == []


def test_a_datagram_may_fill_a_slot_but_not_exceed_it():
    batch = ReceiveBatch(1)

    assert batch.fill([(b"x" * SLOT_LENGTH, HERE)]) == 1
    with pytest.raises(IndexError):
        batch.fill([(b"x" * (SLOT_LENGTH + 1), HERE)])


def test_a_channel_passes_address_and_close_on_to_its_delegate():
    wire = Wire()
    channel = PythonDatagramChannel(wire)

    assert channel.local_address() == HERE
    channel.close()
    assert not wire.is_open


def test_an_exception_of_a_delegate_is_raised_to_the_caller():
    class Broken(Wire):
        def receive(self, limit):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        DatagramProbe(PythonDatagramChannel(Broken())).receive()


def test_the_base_can_neither_send_nor_receive():
    probe = DatagramProbe(DatagramChannel())

    with pytest.raises(OSError, match="receive is abstract"):
        probe.receive()
    with pytest.raises(OSError, match="send is abstract"):
        probe.send([(b"x", 1)], HERE)


class Braces:
    """Puts each datagram into braces; raises for one that contains a question mark."""

    overhead = 2

    def seal(self, datagram):
        if b"?" in datagram:
            raise ValueError(datagram)
        return datagram[1:] if b"short" in datagram else b"{" + datagram + b"}"

    def open(self, datagram, source):
        return datagram[1:-1] if datagram[:1] == b"{" else None


class Transformed:
    def __init__(self, *waiting):
        self.wire = Wire([(each, THERE) for each in waiting])
        self.refusals, self.errors = detached_counter(0, ""), []
        self.probe = DatagramProbe(
            TransformedDatagrams(
                PythonDatagramChannel(self.wire), Braces(), 2, self.refusals, self.errors.append
            )
        )

    @property
    def sent(self):
        return [bytes(datagram) for datagram, _ in self.wire.sent]


def test_each_datagram_is_transformed_before_it_is_sent():
    one = Transformed()

    assert one.probe.send([(b"abcde", 2), (b"f", 1)], THERE) == Taken(2, 6)

    assert one.sent == [b"{ab}", b"{cd}", b"{e}", b"{f}"]


def test_datagrams_that_cannot_be_opened_leave_no_slot():
    one = Transformed(b"plain", b"{a}", b"", b"{bc}")

    slots = one.probe.receive()

    assert [slot.datagrams for slot in slots] == [[b"a"], [b"bc"]]
    assert one.refusals.get() == 2


def test_what_cannot_be_transformed_is_lost_and_reported():
    one = Transformed()

    assert one.probe.send([(b"?", 1), (b"short", 5), (b"a", 1)], THERE) == Taken(3, 7)

    assert one.sent == [b"{a}"]
    assert [str(error) for error in one.errors[:1]] == ["b'?'"]
    assert "returned 4 bytes for a datagram of 5: the difference must be the overhead, 2" in str(
        one.errors[1]
    )


def test_a_transformed_channel_forwards_what_is_not_data():
    one = Transformed()

    assert one.probe.channel.local_address() == HERE
    one.probe.channel.close()
    assert not one.wire.is_open
