"""Channel URIs, the parameters of all media, and the addresses of UDP channels: parsed or refused."""

from __future__ import annotations

from aeron_media.lumberjack.parameters import LumberjackParameters
from aeron_media.sp.parameters import PairParameters
from aeron_media.udp.transport import UdpTransport

from aeron_core._native.address import SocketAddress
from aeron_core.errors import ChannelUriError, ConfigurationError
from aeron_core.uri.addresses import parse_address
from aeron_core.uri.builder import ChannelUriBuilder
from aeron_core.uri.channel_uri import MAX_URI_LENGTH, ChannelUri
from aeron_core.uri.defaults import PublicationDefaults, SubscriptionDefaults
from aeron_core.uri.parameters import PublicationParameters, SubscriptionParameters
from targets._texts import check_text

UDP = UdpTransport()
#: A client gets it: with the URI twice at most, and some sentences.
MAX_TEXT_LENGTH = 4 * MAX_URI_LENGTH + 1000
MODELS = (LumberjackParameters, PairParameters)


def seeds() -> list[bytes]:
    return [
        b"aeron:ipc",
        b"aeron-spy:aeron:udp?endpoint=localhost:20121|tags=1,2|session-id=tag:2",
        b"aeron:udp?endpoint=224.20.30.39:40456|interface=127.0.0.1/24|ttl=8|group=true|so-sndbuf=1m|rcv-wnd=64k",
        b"aeron:udp?control=[::1]:40456|control-mode=dynamic|fc=min,g:7/3,t:5s|init-term-id=-5|term-id=9|"
        b"term-offset=64|term-length=64k|mtu=1408|linger=1s|sparse=false|eos=false|ssc=true|max-resend=3",
        b"aeron:udp?control-mode=response|control=127.0.0.1:0|response-correlation-id=prototype|rejoin=false|"
        b"tether=false|reliable=false|untethered-window-limit-timeout=5s|untethered-resting-timeout=1ms|cc=cubic",
        b"aeron:lumberjack?endpoint=127.0.0.1:5044|term-length=256k|max-memory=4m|tls=true|cert=a|key=b|mtu=1k",
        b"aeron:sp?endpoint=127.0.0.1:5555|mode=listen|poly=true|max-message=64k|transport=ws|path=/a|heartbeat=1s",
    ]


def resolve(text: str, uri_key: str) -> SocketAddress:
    """Resolve addresses and one name, as a resolver: an unknown name is a ChannelUriError of the conductor."""
    host, port = parse_address(text)
    try:
        return SocketAddress.of({"localhost": "127.0.0.1"}.get(host, host), port)
    except OSError:
        raise ChannelUriError(f"{uri_key}={text}: unknown") from None


def check(data: bytes) -> bool:
    text = data.decode("utf-8", "surrogateescape")
    try:
        uri = ChannelUri.parse(text)
    except ChannelUriError as error:
        check_text(error, MAX_TEXT_LENGTH)
        return False
    assert ChannelUri.parse(str(uri)) == uri
    assert hash(ChannelUri.parse(str(uri))) == hash(uri)
    assert ChannelUriBuilder(uri).build() == uri
    parsers = [
        lambda: PublicationParameters.parse(uri, PublicationDefaults()),
        lambda: SubscriptionParameters.parse(uri, SubscriptionDefaults()),
        lambda: UDP.resolve_channel(uri, resolve, is_publication=True),
        lambda: UDP.resolve_channel(uri, resolve, is_publication=False),
        *(lambda model=model: model.parse(uri) for model in MODELS),
    ]
    for parse in parsers:
        try:
            parsed = parse()
        except ConfigurationError as error:
            check_text(error, MAX_TEXT_LENGTH)
        else:
            assert repr(parsed)
    return True
