"""Invalid datagrams: no crash, no exception; every packet is delivered, ignored or counted."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aeron_core._native import wire
from aeron_core._native.address import SocketAddress
from aeron_core.testing import RecordingSendStream

TYPES = [*range(0x0E), 0xFFFF]

header = st.builds(
    lambda length, version, flags, frame_type: (
        length.to_bytes(4, "little", signed=True) + bytes([version, flags]) + frame_type.to_bytes(2, "little")
    ),
    st.sampled_from([0, -1, 8, 20, 28, 32, 36, 40, 44, 64, 2**31 - 1, -(2**31)]),
    st.sampled_from([0, 0, 0, 1, 255]),
    st.integers(0, 255),
    st.sampled_from(TYPES),
)
body = st.one_of(st.binary(max_size=80), st.sampled_from([24, 32, 56]).map(bytes))
packets = st.lists(st.one_of(st.binary(max_size=64), st.builds(bytes.__add__, header, body)), max_size=12)
relaxed = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)


@relaxed
@given(packets)
def test_a_sending_endpoint_survives_any_bytes(lab, packets):
    stream = RecordingSendStream(session_id=0, stream_id=0)
    sender = lab.open_send(connects=False)
    sender.add_stream(stream)
    peer = lab.open_socket(0)
    before = lab.counted().get("invalid_packets", 0)

    lab.send_to(peer, lab.address_of(sender), *packets)
    polled = 0
    while frames := sender.poll():
        polled += frames

    refused = lab.counted().get("invalid_packets", 0) - before
    assert polled == len(packets)
    assert refused + len(stream.calls) <= len(packets)
    assert (sender.endpoint.take_fault() is not None) == (refused > 0)
    sender.endpoint.close()
    peer.channel.close()


@relaxed
@given(packets)
def test_a_receiving_endpoint_survives_any_bytes(lab, packets):
    receiver = lab.open_receive()
    peer = lab.open_socket(0)
    before = lab.counted().get("invalid_packets", 0)
    calls = len(lab.dispatcher.calls)

    lab.send_to(peer, SocketAddress.of("127.0.0.1", 20121), *packets)
    # An empty packet has no length: check that no packet waits.
    for _ in packets:
        receiver.poll()

    refused = lab.counted().get("invalid_packets", 0) - before
    assert refused >= sum(len(packet) < wire.FRAME_HEADER_LENGTH for packet in packets)
    assert refused + len(lab.dispatcher.calls) - calls <= len(packets)
    assert (receiver.endpoint.take_fault() is not None) == (refused > 0)
    receiver.endpoint.close()
    peer.channel.close()
