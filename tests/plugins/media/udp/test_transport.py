import pytest
from aeron_media.udp import plugin, transport
from aeron_media.udp.parameters import UdpParameters
from aeron_media.udp.transport import UdpTransport

from aeron_core._native import wire
from aeron_core._native.address import SocketAddress
from aeron_core.errors import ChannelUriError
from aeron_core.spi.media import Channel, SendEndpointParams
from aeron_core.testing import data_frame
from aeron_core.uri.channel_uri import ChannelUri


def resolve(text, uri_key):
    host, _, port = text.rpartition(":")
    return SocketAddress.of(host, int(port))


def test_a_channel_known_by_its_tag_alone_cannot_be_opened(lab):
    with pytest.raises(ChannelUriError, match="must have explicit control, endpoint"):
        lab.open_send("aeron:udp?tags=5")
    with pytest.raises(ChannelUriError, match="must have explicit control, endpoint"):
        lab.open_receive("aeron:udp?tags=5")


def test_a_publication_needs_more_than_a_control_address(lab):
    with pytest.raises(ChannelUriError, match="requires that either 'endpoint' or 'control-mode'"):
        lab.open_send("aeron:udp?control=127.0.0.1:5")


def test_a_channel_of_another_medium_is_refused(lab):
    channel = Channel(ChannelUri.parse("aeron:ipc"), "IPC")
    params = SendEndpointParams(channel, 0, None, {}, 0, 0, False, False)

    with pytest.raises(TypeError, match="was not resolved by this medium"):
        UdpTransport().open_send_endpoint(params)


def test_endpoints_report_their_local_addresses(lab):
    receiver = lab.open_receive("aeron:udp?endpoint=127.0.0.1:0")
    sender = lab.open_send("aeron:udp?endpoint=127.0.0.1:20121|control=127.0.0.1:20122")

    (bound,) = lab.transport.local_addresses(receiver.endpoint)

    assert bound.startswith("127.0.0.1:")
    assert bound != "127.0.0.1:0"
    assert lab.transport.local_addresses(sender.endpoint) == ["127.0.0.1:20122"]


def test_two_receivers_on_one_port_are_refused_with_the_address(lab):
    lab.open_receive()

    with pytest.raises(OSError, match=r"cannot bind 127\.0\.0\.1:20121"):
        lab.open_receive()


def test_closing_an_endpoint_leaves_its_port(lab):
    receiver = lab.open_receive()

    lab.transport.close_endpoint(receiver.endpoint)

    lab.open_receive()


def test_without_an_opener_real_sockets_are_opened(lab, stream):
    receiver = lab.open_receive("aeron:udp?endpoint=127.0.0.1:0", open_datagrams=None)
    address = lab.transport.local_addresses(receiver.endpoint)[0]
    sender = lab.open_send(f"aeron:udp?endpoint={address}", open_datagrams=None)
    packet = data_frame(bytes(1376))

    sender.send(stream, [(packet * 20, len(packet))])
    while len(lab.dispatcher.calls) < 20:
        receiver.poll()

    assert [call.data for call in lab.dispatcher.calls] == [packet] * 20
    assert {str(call.source) for call in lab.dispatcher.calls} == {
        lab.transport.local_addresses(sender.endpoint)[0].replace("0.0.0.0", "127.0.0.1")
    }
    sender.endpoint.close()
    receiver.endpoint.close()


def test_the_parameters_are_those_that_the_medium_reads():
    uri = ChannelUri.parse("aeron:udp?endpoint=[::1]:5|interface={eth0}|so-rcvbuf=64k|term-length=64k|ttl=3")

    parameters = UdpParameters.model_validate(dict(uri.params))

    assert (parameters.endpoint, parameters.ttl) == (("::1", 5), 3)
    assert parameters.interface is not None
    assert (parameters.interface.name, parameters.socket_rcvbuf_length) == ("eth0", 65536)


def test_the_transport_states_what_its_endpoints_were_compiled_against():
    assert wire.SPI_VERSION == transport.AERON_CORE_SPI_VERSION
    assert list(plugin.aeron_media_transports()) == ["udp"]
