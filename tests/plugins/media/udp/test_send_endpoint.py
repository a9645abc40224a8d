import contextlib
import socket

import pytest

from aeron_core._native import wire
from aeron_core._native.address import SocketAddress
from aeron_core._native.datagrams import ReceiveBatch, UdpSocket
from aeron_core.protocol.frames import ErrorFrame, Nak, ResponseSetup, Rttm, Setup, StatusMessage
from aeron_core.spi.endpoints import Fault
from aeron_core.spi.media import LossRates
from aeron_core.testing import RecordingSendStream, SimulatedLink, Taken, encode_frame

REMOTE = SocketAddress.of("127.0.0.1", 20121)
IDS = {"session_id": 7, "stream_id": 1001}
SM = StatusMessage(**IDS, receiver_window=4096, receiver_id=99)
DROPPED = "the packet was dropped: check that its sender is an Aeron driver"


def cut(data: bytes, length: int) -> list[bytes]:
    return [data[at : at + length] for at in range(0, len(data), length)]


@pytest.fixture
def sender(lab, stream):
    """A send endpoint with `stream` added."""
    probe = lab.open_send()
    probe.add_stream(stream)
    return probe


@pytest.fixture
def receiver(lab):
    """The socket that the channel sends to."""
    return lab.open_socket(20121)


def test_a_run_arrives_as_datagrams_of_its_segment_length(lab, sender, receiver, stream):
    data = bytes(range(250))

    taken = sender.send(stream, [(data, 100)])

    assert taken == Taken(entries=1, length=250)
    assert [slot.datagrams for slot in receiver.receive()] == [[part] for part in cut(data, 100)]
    assert lab.counted() == {"bytes_sent": 250}


def test_data_is_sent_from_the_reported_local_address(lab, sender, receiver, stream):
    sender.send(stream, [(b"x" * 32, 32)])

    (slot,) = receiver.receive()
    assert slot.source == lab.address_of(sender)


def test_an_empty_batch_sends_nothing(lab, sender, stream):
    assert sender.send(stream, []) == Taken(0, 0)
    assert lab.counted() == {}


@pytest.mark.parametrize(
    ("frame", "kind", "counter"),
    [
        (SM, "status_message", "status_messages_received"),
        (Nak(**IDS, term_offset=64, length=32), "nak", "naks_received"),
        (ErrorFrame(**IDS, receiver_id=99, error_code=13), "error", "error_frames_received"),
        (Rttm(**IDS, echo_timestamp=5, flags=wire.RTTM_FLAG_REPLY), "rttm", None),
        (ResponseSetup(**IDS, response_session_id=8), "response_setup", None),
    ],
)
def test_a_control_frame_reaches_its_stream_and_is_counted(
    lab, sender, receiver, stream, frame, kind, counter
):
    lab.send_to(receiver, lab.address_of(sender), encode_frame(frame))

    assert sender.poll(now_ns=55) == 1

    (call,) = stream.calls
    assert (call.kind, call.source, call.now_ns) == (kind, REMOTE, 55)
    assert call.fields.items() >= IDS.items()
    assert lab.counted() == ({counter: 1} if counter else {})


def test_a_status_message_for_another_stream_is_counted_but_not_delivered(lab, sender, receiver, stream):
    other = StatusMessage(session_id=7, stream_id=1002, receiver_window=4096)
    lab.send_to(receiver, lab.address_of(sender), encode_frame(other))

    sender.poll()

    assert stream.calls == []
    assert lab.counted() == {"status_messages_received": 1}


def test_a_nak_for_an_unknown_stream_is_not_counted(lab, sender, receiver):
    nak = Nak(session_id=8, stream_id=1001, length=32)
    lab.send_to(receiver, lab.address_of(sender), encode_frame(nak))

    sender.poll()

    assert lab.counted() == {}


def test_streams_that_differ_only_in_the_session_get_what_is_theirs(lab, sender, receiver, stream):
    other = RecordingSendStream(session_id=-7, stream_id=1001)
    sender.add_stream(other)
    frames = [
        encode_frame(StatusMessage(session_id=session, stream_id=1001, receiver_window=64))
        for session in (7, -7, -7)
    ]
    lab.send_to(receiver, lab.address_of(sender), *frames)

    while sender.poll():
        pass

    assert [len(stream.calls), len(other.calls)] == [1, 2]


def test_a_removed_stream_gets_no_frames(lab, sender, receiver, stream):
    sender.remove_stream(stream)
    lab.send_to(receiver, lab.address_of(sender), encode_frame(SM))

    sender.poll()

    assert stream.calls == []


def test_removing_a_stream_leaves_another_one_of_the_same_ids(lab, sender, receiver, stream):
    successor = RecordingSendStream(session_id=7, stream_id=1001)
    sender.add_stream(successor)

    sender.remove_stream(stream)

    lab.send_to(receiver, lab.address_of(sender), encode_frame(SM))
    sender.poll()
    assert len(successor.calls) == 1


@pytest.mark.parametrize(
    "frame",
    [
        StatusMessage(**IDS, consumption_term_offset=33),
        StatusMessage(**IDS, receiver_window=-1),
        Nak(**IDS, term_offset=-32),
        Nak(**IDS, length=-1),
    ],
)
def test_a_frame_with_a_field_out_of_range_is_invalid(lab, sender, receiver, stream, frame):
    lab.send_to(receiver, lab.address_of(sender), encode_frame(frame))

    sender.poll()

    assert stream.calls == []
    assert lab.counted() == {"invalid_packets": 1}
    assert sender.endpoint.take_fault() == Fault(
        f"a field of the frame is out of its range; {DROPPED}",
        "127.0.0.1:20121",
    )


def test_only_one_fault_is_kept_until_it_is_taken(lab, sender, receiver):
    lab.send_to(receiver, lab.address_of(sender), b"short", b"\0" * 7, b"\xff" * 64)
    while sender.poll():
        pass

    faults = [sender.endpoint.take_fault(), sender.endpoint.take_fault()]

    fault = Fault(f"packet is shorter than its frame type needs; {DROPPED}", "127.0.0.1:20121")
    assert faults == [fault, None]
    assert lab.counted() == {"invalid_packets": 3}


@pytest.mark.parametrize("frame", [Setup(**IDS, term_length=65536, mtu=1408)])
def test_a_frame_for_receivers_is_ignored(lab, sender, receiver, stream, frame):
    lab.send_to(receiver, lab.address_of(sender), encode_frame(frame))

    assert sender.poll() == 1

    assert stream.calls == []
    assert lab.counted() == {}


def test_frames_of_other_sources_do_not_reach_a_connected_endpoint(lab, sender, stream):
    stranger = lab.open_socket(9999)

    lab.send_to(stranger, lab.address_of(sender), encode_frame(SM))

    assert sender.poll() == 0
    assert stream.calls == []


def test_an_endpoint_that_does_not_connect_receives_from_any_source(lab, stream):
    sender = lab.open_send(connects=False)
    sender.add_stream(stream)

    lab.send_to(lab.open_socket(9999), lab.address_of(sender), encode_frame(SM))

    assert sender.poll() == 1
    assert len(stream.calls) == 1


def test_an_exception_of_a_stream_is_raised_by_the_poll(lab, sender, receiver, stream):
    stream.failure = RuntimeError("broken strategy")
    lab.send_to(receiver, lab.address_of(sender), encode_frame(SM))

    with pytest.raises(RuntimeError, match="broken strategy"):
        sender.poll()


def test_deliberately_lost_data_counts_as_sent(lab, receiver, stream):
    sender = lab.open_send(data_loss=LossRates(rate=1.0, seed=1))

    taken = sender.send(stream, [(b"x" * 320, 32), (b"y" * 32, 32)])

    assert taken == Taken(2, 352)
    assert receiver.receive() == []


def test_data_loss_hits_single_datagrams_of_a_run_and_repeats_with_the_seed(lab, receiver, stream):
    data = b"".join(bytes([number]) * 32 for number in range(100))

    def survivors(port):
        sender = lab.open_send(data_loss=LossRates(rate=0.3, seed=42))
        assert sender.send(stream, [(data, 32)]) == Taken(1, 3200)
        kept = []
        while slots := receiver.receive():
            kept += [datagram for slot in slots for datagram in slot.datagrams]
        return kept

    first, second = survivors(1), survivors(2)

    assert first == second
    assert 55 <= len(first) <= 85
    assert all(len(datagram) == 32 for datagram in first)


@pytest.fixture
def narrow(lab):
    """Return the end that receives, and a function that opens a sender whose socket accepts a few datagrams only."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    here.setblocking(False)
    there.setblocking(False)

    def open_send(rate):
        opened = UdpSocket(here, is_connected=True)
        return lab.open_send(open_datagrams=lambda options: opened, data_loss=LossRates(rate, seed=42))

    yield there, open_send
    here.close()
    there.close()


def received_by(end):
    found = []
    with contextlib.suppress(BlockingIOError):
        while True:
            found.append(end.recv(65536))
    return found


@pytest.mark.parametrize("rate", [1e-9, 0.3])
def test_an_entry_that_is_sent_in_part_with_deliberate_loss_continues_after_that_part(
    narrow, stream, lab, rate
):
    there, open_send = narrow
    sender = open_send(rate)
    datagrams = [number.to_bytes(2, "big") * 16 for number in range(1000)]
    kept = []
    at = turns = 0

    while at < len(datagrams):
        taken = sender.send(stream, [(b"".join(datagrams[at:]), 32)])
        sent = taken.length // 32
        received = received_by(there)
        assert taken.entries == 1
        assert set(received) <= set(datagrams[at : at + sent])
        kept += received
        at += sent
        turns += 1

    assert turns > 1
    assert kept == sorted(set(kept))
    assert len(kept) == 1000 if rate < 0.1 else 600 <= len(kept) <= 800
    assert lab.counted() == {"bytes_sent": 32_000}


def test_control_loss_hits_frames_of_receivers(lab, receiver, stream):
    sender = lab.open_send(control_loss=LossRates(rate=1.0))
    sender.add_stream(stream)
    lab.send_to(receiver, lab.address_of(sender), encode_frame(SM))

    sender.poll()

    assert stream.calls == []
    assert lab.counted() == {}


def test_a_network_that_loses_everything_is_no_fault_of_the_endpoint(lab, sender, receiver, stream):
    lab.network.set_link(SimulatedLink(loss=1.0))

    assert sender.send(stream, [(b"x" * 32, 32)]) == Taken(1, 32)
    assert receiver.receive() == []
    assert sender.endpoint.take_fault() is None


def test_a_closed_endpoint_leaves_its_port(lab):
    uri = "aeron:udp?endpoint=127.0.0.1:20121|control=127.0.0.1:20122"
    lab.open_send(uri).endpoint.close()

    assert lab.open_send(uri).endpoint.local_addresses() == ["127.0.0.1:20122"]


@pytest.mark.parametrize(
    ("slots", "sent", "taken"), [(1, 5, 5), (3, 5, 5), (8, 5, 5), (1, 40, 32), (2, 40, 40)]
)
def test_one_poll_receives_all_packets_while_the_slots_are_filled_up_to_32_times(
    lab, stream, slots, sent, taken
):
    sender = lab.open_send(batch=ReceiveBatch(slots))
    sender.add_stream(stream)
    receiver = lab.open_socket(20121)
    lab.send_to(receiver, lab.address_of(sender), *[encode_frame(SM)] * sent)

    sender.poll(now_ns=55)

    assert len(stream.calls) == taken
