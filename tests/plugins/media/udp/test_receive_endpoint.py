import pytest

from aeron_core._native import wire
from aeron_core._native.address import SocketAddress
from aeron_core._native.datagrams import ReceiveBatch
from aeron_core.protocol.frames import ErrorFrame, Nak, ResponseSetup, Rttm, Setup, StatusMessage
from aeron_core.spi.endpoints import Fault
from aeron_core.spi.media import LossRates
from aeron_core.testing import data_frame, encode_frame

ADDRESS = SocketAddress.of("127.0.0.1", 20121)
PEER = SocketAddress.of("127.0.0.1", 30000)
IDS = {"session_id": 7, "stream_id": 1001}
RECEIVER_ID = 0x1122334455667788
SETUP = Setup(**IDS, term_length=65536, mtu=1408)
DROPPED = "the packet was dropped: check that its sender is an Aeron driver"


@pytest.fixture
def receiver(lab):
    return lab.open_receive()


@pytest.fixture
def peer(lab):
    """The socket of a sender."""
    return lab.open_socket(PEER.port)


def test_a_data_packet_reaches_the_dispatcher_whole(lab, receiver, peer):
    packet = data_frame(b"hello") + data_frame(b"world", term_offset=64)
    lab.send_to(peer, ADDRESS, packet)

    assert receiver.poll(now_ns=77) == len(packet)

    (call,) = lab.dispatcher.calls
    assert (call.kind, call.data, call.source, call.now_ns) == ("data", packet, PEER, 77)
    assert lab.counted() == {"bytes_received": len(packet)}


def test_a_padding_frame_is_data(lab, receiver, peer):
    lab.send_to(peer, ADDRESS, data_frame(frame_type=wire.TYPE_PAD, frame_length=4096))

    receiver.poll()

    assert [call.kind for call in lab.dispatcher.calls] == ["data"]


def test_each_slot_has_its_own_source(lab, receiver, peer):
    other = lab.open_socket(30001)
    lab.send_to(peer, ADDRESS, data_frame(b"one"))
    lab.send_to(other, ADDRESS, data_frame(b"two"))

    receiver.poll()

    assert [call.source.port for call in lab.dispatcher.calls] == [30000, 30001]


def test_a_setup_reaches_the_dispatcher(lab, receiver, peer):
    lab.send_to(peer, ADDRESS, encode_frame(SETUP))

    receiver.poll(now_ns=5)

    (call,) = lab.dispatcher.calls
    assert (call.kind, call.source, call.now_ns) == ("setup", PEER, 5)
    assert call.fields == SETUP.fields() | {"frame_length": 40}


@pytest.mark.parametrize(
    "changes", [{"term_length": 65535}, {"mtu": 31}, {"term_offset": 65536}, {"term_length": 2**31 - 1}]
)
def test_a_setup_that_no_image_can_be_made_of_is_invalid(lab, receiver, peer, changes):
    lab.send_to(peer, ADDRESS, encode_frame(Setup(**IDS | {"term_length": 65536, "mtu": 1408} | changes)))

    receiver.poll()

    assert lab.dispatcher.calls == []
    assert lab.counted() == {"bytes_received": 40, "invalid_packets": 1}
    fault = receiver.endpoint.take_fault()
    assert fault == Fault(f"a field of the frame is out of its range; {DROPPED}", str(PEER))


@pytest.mark.parametrize(("receiver_id", "is_meant"), [(RECEIVER_ID, True), (0, True), (1, False)])
def test_a_round_trip_measurement_is_for_the_receiver_that_it_names(
    lab, receiver, peer, receiver_id, is_meant
):
    lab.send_to(peer, ADDRESS, encode_frame(Rttm(**IDS, receiver_id=receiver_id)))

    receiver.poll()

    assert [call.kind for call in lab.dispatcher.calls] == (["rttm"] if is_meant else [])


@pytest.mark.parametrize("frame", [StatusMessage(**IDS), Nak(**IDS), ErrorFrame(**IDS)])
def test_a_frame_for_senders_is_ignored(lab, receiver, peer, frame):
    lab.send_to(peer, ADDRESS, encode_frame(frame))

    receiver.poll()

    assert lab.dispatcher.calls == []
    assert "invalid_packets" not in lab.counted()


@pytest.mark.parametrize(
    ("packet", "reason"),
    [
        (b"", "packet is shorter than its frame type needs"),
        (b"1234567", "packet is shorter than its frame type needs"),
        (data_frame()[:31], "packet is shorter than its frame type needs"),
        (
            data_frame(b"12345")[:40],
            "frame length is too short, beyond the packet or its term, or not aligned",
        ),
        (
            b"\0\0\0\0\1\0\1\0" + bytes(24),
            "frame version is not 0, or the channel of the sender has security=",
        ),
        (b"\0\0\0\0\0\0\x08\0" + bytes(24), "frame type is not known"),
    ],
)
def test_an_invalid_packet_is_counted_and_its_reason_kept(lab, receiver, peer, packet, reason):
    lab.send_to(peer, ADDRESS, packet)

    receiver.poll()

    assert lab.dispatcher.calls == []
    assert lab.counted()["invalid_packets"] == 1
    assert receiver.endpoint.take_fault() == Fault(f"{reason}; {DROPPED}", str(PEER))
    assert receiver.endpoint.take_fault() is None


def test_a_poll_receives_as_many_packets_as_the_batch_has_slots(lab, peer):
    receiver = lab.open_receive(batch=ReceiveBatch(slots=2))
    lab.send_to(peer, ADDRESS, *[data_frame(b"x")] * 3)

    assert [receiver.poll(), receiver.poll(), receiver.poll()] == [128, 64, 0]


def test_endpoints_may_share_the_memory_of_a_batch(lab, peer):
    batch = ReceiveBatch(slots=1)
    one = lab.open_receive(batch=batch)
    other = lab.open_receive("aeron:udp?endpoint=127.0.0.1:20122", batch=batch)
    lab.send_to(peer, ADDRESS, data_frame(b"one"))
    lab.send_to(peer, SocketAddress.of("127.0.0.1", 20122), data_frame(b"other"))

    one.poll()
    other.poll()

    assert [call.data for call in lab.dispatcher.calls] == [data_frame(b"one"), data_frame(b"other")]


def received(lab, peer):
    return [datagram for slot in peer.receive() for datagram in slot.datagrams]


def test_a_status_message_leaves_with_the_receivers_id(lab, receiver, peer):
    sm = StatusMessage(**IDS, receiver_window=4096)

    assert receiver.send_status_message(sm, PEER) == wire.SM_HEADER_LENGTH

    expected = StatusMessage(**IDS, receiver_window=4096, receiver_id=RECEIVER_ID)
    assert received(lab, peer) == [encode_frame(expected)]


@pytest.mark.parametrize("group_tag", [0, -1, 2**63 - 1])
def test_a_status_message_leaves_with_the_group_tag_of_the_channel(lab, peer, group_tag):
    receiver = lab.open_receive(group_tag=group_tag)

    assert receiver.send_status_message(StatusMessage(**IDS), PEER) == wire.SM_TAGGED_HEADER_LENGTH

    expected = StatusMessage(**IDS, receiver_id=RECEIVER_ID, has_group_tag=True, group_tag=group_tag)
    assert received(lab, peer) == [encode_frame(expected)]


def test_an_error_leaves_with_id_tag_and_text(lab, peer):
    receiver = lab.open_receive(group_tag=5)
    error = ErrorFrame(**IDS, error_code=13)
    error.text = "refused"

    assert receiver.send_error(error, PEER) == 47

    expected = ErrorFrame(
        **IDS, error_code=13, receiver_id=RECEIVER_ID, group_tag=5, flags=wire.ERR_FLAG_HAS_GROUP_TAG
    )
    expected.text = "refused"
    assert received(lab, peer) == [encode_frame(expected)]


def test_the_longest_error_text_fits(lab, receiver, peer):
    error = ErrorFrame(**IDS)
    error.text = "x" * wire.ERR_MAX_TEXT_LENGTH

    assert receiver.send_error(error, PEER) == wire.ERR_HEADER_LENGTH + wire.ERR_MAX_TEXT_LENGTH


def test_other_control_frames_leave_as_they_are(lab, receiver, peer):
    nak, setup = Nak(**IDS, term_offset=64, length=96), ResponseSetup(**IDS, response_session_id=9)

    assert [receiver.send_nak(nak, PEER), receiver.send_response_setup(setup, PEER)] == [28, 20]
    assert receiver.send_rttm(Rttm(**IDS, echo_timestamp=3), PEER) == 40

    rttm = Rttm(**IDS, echo_timestamp=3, receiver_id=RECEIVER_ID)
    assert received(lab, peer) == [encode_frame(nak), encode_frame(setup), encode_frame(rttm)]


def test_nothing_is_sent_to_no_address(lab, receiver):
    assert receiver.send_nak(Nak(**IDS), SocketAddress()) == 0
    assert lab.network.log == []


def test_control_loss_keeps_frames_back_that_count_as_sent(lab, peer):
    receiver = lab.open_receive(control_loss=LossRates(rate=1.0))

    assert receiver.send_nak(Nak(**IDS), PEER) == wire.NAK_HEADER_LENGTH
    assert received(lab, peer) == []


def test_data_loss_hits_what_is_received(lab, peer):
    receiver = lab.open_receive(data_loss=LossRates(rate=0.5, seed=3))
    lab.send_to(peer, ADDRESS, *[data_frame(b"x")] * 200)

    while receiver.poll():
        pass

    assert 70 <= len(lab.dispatcher.calls) <= 130
    assert lab.counted() == {"bytes_received": 200 * 64}


def test_an_exception_of_the_dispatcher_is_raised_by_the_poll(lab, receiver, peer):
    lab.dispatcher.failure = RuntimeError("broken image")
    lab.send_to(peer, ADDRESS, data_frame(b"x"))

    with pytest.raises(RuntimeError, match="broken image"):
        receiver.poll()


def test_an_endpoint_cannot_be_without_a_dispatcher(lab):
    with pytest.raises(TypeError, match="dispatcher"):
        lab.open_receive(dispatcher=None)
