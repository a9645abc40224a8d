"""A send endpoint with several destinations: added by clients, or found by status messages."""

import pytest
from aeron_media.udp.destinations import TIMEOUT_NS

from aeron_core._native import wire
from aeron_core._native.address import SocketAddress
from aeron_core.protocol.frames import StatusMessage
from aeron_core.spi.media import LossRates
from aeron_core.testing import Taken, encode_frame, make_counters

DYNAMIC = "aeron:udp?control=127.0.0.1:20120|control-mode=dynamic"
MANUAL = "aeron:udp?control=127.0.0.1:20120|control-mode=manual"
CONTROL = SocketAddress.of("127.0.0.1", 20120)
PORTS = (5001, 5002, 5003)
DATA = bytes(range(250))


def status_message(receiver_id=1, **fields):
    fields = {"session_id": 7, "stream_id": 1001, "receiver_window": 4096, **fields}
    return encode_frame(StatusMessage(**fields, receiver_id=receiver_id))


class Mdc:
    """A send endpoint, and sockets of receivers."""

    def __init__(self, lab, stream, uri, **changes):
        self.lab = lab
        self.stream = stream
        self.count = make_counters("destinations")["destinations"]
        self.sender = lab.open_send(uri, destination_count=self.count, **changes)
        self.sender.add_stream(stream)
        self.sockets = {port: lab.open_socket(port) for port in PORTS}

    def send_sm(self, port, receiver_id=1, now_ns=0, **fields):
        self.lab.send_to(self.sockets[port], CONTROL, status_message(receiver_id, **fields))
        self.sender.poll(now_ns)

    def add(self, port, registration_id=1, host="127.0.0.1"):
        assert self.sender.endpoint.add_destination(SocketAddress.of(host, port), registration_id)
        self.sender.poll()

    def send(self, runs=((DATA, 100),)):
        return self.sender.send(self.stream, list(runs))

    def reached(self):
        """Return the ports that received datagrams since the last call."""
        return [port for port, socket in self.sockets.items() if socket.receive()]


@pytest.fixture
def dynamic(lab, stream):
    return Mdc(lab, stream, DYNAMIC)


@pytest.fixture
def manual(lab, stream):
    return Mdc(lab, stream, MANUAL)


def test_the_source_of_a_status_message_is_a_destination(dynamic):
    dynamic.send_sm(5001, receiver_id=1)
    dynamic.send_sm(5002, receiver_id=2)

    assert dynamic.send() == Taken(entries=1, length=250)

    assert dynamic.reached() == [5001, 5002]
    assert dynamic.count.get() == 2


def test_a_receiver_is_known_before_there_is_a_stream_for_it(dynamic):
    dynamic.send_sm(5001, session_id=0, stream_id=0, flags=wire.SM_FLAG_SEND_SETUP, receiver_window=0)

    dynamic.send()

    assert dynamic.reached() == [5001]


def test_a_second_status_message_of_a_receiver_adds_no_destination(dynamic):
    for now_ns in range(3):
        dynamic.send_sm(5001, now_ns=now_ns)

    assert dynamic.count.get() == 1


def test_two_receivers_with_one_id_on_different_ports_are_two_destinations(dynamic):
    dynamic.send_sm(5001, receiver_id=1)
    dynamic.send_sm(5002, receiver_id=1)

    assert dynamic.count.get() == 2


def test_two_receivers_at_one_address_are_distinguished_by_their_ids(dynamic):
    dynamic.send_sm(5001, receiver_id=1)
    dynamic.send_sm(5001, receiver_id=2)

    assert dynamic.count.get() == 2


def test_a_receiver_that_is_silent_for_five_seconds_is_left_out(dynamic):
    dynamic.send_sm(5001, receiver_id=1, now_ns=0)
    dynamic.send_sm(5002, receiver_id=2, now_ns=1)

    dynamic.sender.poll(now_ns=TIMEOUT_NS)
    assert dynamic.count.get() == 2
    dynamic.sender.poll(now_ns=TIMEOUT_NS + 1)
    dynamic.send()

    assert dynamic.reached() == [5002]
    assert dynamic.count.get() == 1


def test_a_receiver_that_keeps_sending_stays(dynamic):
    for now_ns in range(0, 4 * TIMEOUT_NS, TIMEOUT_NS // 2):
        dynamic.send_sm(5001, now_ns=now_ns)

    assert dynamic.count.get() == 1


def test_all_that_fell_silent_together_leave_together(dynamic):
    for port in PORTS:
        dynamic.send_sm(port, receiver_id=port)

    dynamic.sender.poll(now_ns=TIMEOUT_NS + 1)

    assert dynamic.count.get() == 0


def test_manual_destinations_are_those_that_were_added(manual):
    manual.send_sm(5003)
    manual.add(5001, registration_id=1)
    manual.add(5002, registration_id=2)

    manual.send()

    assert manual.reached() == [5001, 5002]


def test_a_manual_destination_stays_however_silent_it_is(manual):
    manual.add(5001)

    manual.sender.poll(now_ns=100 * TIMEOUT_NS)

    assert manual.count.get() == 1


def test_a_destination_is_removed_by_its_address(manual):
    manual.add(5001, registration_id=1)
    manual.add(5002, registration_id=2)

    manual.sender.endpoint.remove_destination(SocketAddress.of("127.0.0.1", 5001))
    manual.sender.poll()
    manual.send()

    assert manual.reached() == [5002]
    assert manual.count.get() == 1


def test_a_destination_is_removed_by_its_registration(manual):
    for number, port in enumerate(PORTS):
        manual.add(port, registration_id=number)

    manual.sender.endpoint.remove_destination_by_id(1)
    manual.sender.poll()
    manual.send()

    assert manual.reached() == [5001, 5003]


def test_removing_what_is_no_destination_changes_nothing(manual):
    manual.add(5001, registration_id=1)

    manual.sender.endpoint.remove_destination(SocketAddress.of("127.0.0.1", 5002))
    manual.sender.endpoint.remove_destination_by_id(99)
    manual.sender.poll()

    assert manual.count.get() == 1


def test_without_destinations_everything_counts_as_sent(manual):
    assert manual.send() == Taken(entries=1, length=250)
    assert manual.lab.counted().get("bytes_sent", 0) == 0


def test_every_destination_gets_whole_batches(manual):
    for port in PORTS:
        manual.add(port)

    taken = manual.send([(DATA, 100), (bytes(64), 64)])

    assert taken == Taken(entries=2, length=314)
    for socket in manual.sockets.values():
        datagrams = [datagram for slot in socket.receive() for datagram in slot.datagrams]
        assert [len(datagram) for datagram in datagrams] == [100, 100, 50, 64]
    assert manual.lab.counted()["bytes_sent"] == 3 * 314


def test_another_destination_is_the_first_each_time(manual):
    for port in PORTS:
        manual.add(port)
    log = manual.lab.network.log
    log.clear()

    for _ in range(4):
        manual.send([(b"x", 1)])

    assert [line.destination for line in log[::3]] == [
        "127.0.0.1:5002", "127.0.0.1:5003", "127.0.0.1:5001", "127.0.0.1:5002",
    ]  # fmt: skip


def test_deliberate_loss_is_drawn_for_each_destination(lab, stream):
    mdc = Mdc(lab, stream, MANUAL, data_loss=LossRates(rate=0.5, seed=3))
    for port in PORTS:
        mdc.add(port)

    for _ in range(100):
        mdc.send([(b"x", 1)])

    arrived = []
    for socket in mdc.sockets.values():
        total = 0
        while slots := socket.receive():
            total += len(slots)
        arrived.append(total)
    assert all(30 <= number <= 70 for number in arrived)
    assert len(set(arrived)) > 1


def test_a_destination_that_cannot_be_reached_does_not_keep_the_others_waiting(lab, stream):
    mdc = Mdc(lab, stream, "aeron:udp?control=127.0.0.1:0|control-mode=manual", open_datagrams=None)
    receiver = lab.open_receive("aeron:udp?endpoint=127.0.0.1:0", open_datagrams=None)
    # From 127.0.0.1 the kernel sends nothing to other machines.
    mdc.add(9, host="203.0.113.9")
    mdc.add(lab.address_of(receiver).port)

    taken = mdc.send([(DATA, 100), (bytes(64), 64)])

    assert taken == Taken(entries=2, length=314)
    fault = mdc.sender.endpoint.take_fault()
    assert fault is not None
    assert fault.source == "203.0.113.9:9"
    mdc.sender.endpoint.close()
    receiver.endpoint.close()


def test_if_no_destination_can_be_reached_nothing_is_sent(lab, stream):
    mdc = Mdc(lab, stream, "aeron:udp?control=127.0.0.1:0|control-mode=manual", open_datagrams=None)
    mdc.add(9, host="203.0.113.9")

    assert mdc.send() == Taken(entries=0, length=0)
    mdc.sender.endpoint.close()


def test_a_receiver_with_a_control_address_sends_all_frames_there(lab):
    receiver = lab.open_receive("aeron:udp?endpoint=127.0.0.1:20121|control=127.0.0.1:20120")
    socket = lab.open_socket(20120)

    receiver.send_status_message(StatusMessage(receiver_window=4096), SocketAddress.of("127.0.0.1", 5001))

    (slot,) = socket.receive()
    assert slot.source == SocketAddress.of("127.0.0.1", 20121)


def test_a_receiver_with_a_control_address_alone_listens_on_any_port(lab):
    receiver = lab.open_receive("aeron:udp?control=127.0.0.1:20120")

    assert lab.address_of(receiver).port != 0
