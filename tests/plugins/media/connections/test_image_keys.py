"""URI keys of images: term-length, mtu and rcv-wnd."""

from __future__ import annotations

import pytest
from aeron_media.connections.image_keys import longest_message
from aeron_media.lumberjack.transport import LumberjackTransport
from aeron_media.sp.transport import PairTransport

from aeron_core._native import positions
from aeron_core._native.address import SocketAddress
from aeron_core.errors import ChannelUriError
from aeron_core.uri.channel_uri import ChannelUri

CHANNELS = {
    "aeron:lumberjack?endpoint=127.0.0.1:5044": LumberjackTransport(),
    "aeron:sp?endpoint=127.0.0.1:5044|mode=listen|max-message=1k": PairTransport(),
}


def resolve(channel, keys, *, is_publication=False):
    return CHANNELS[channel].resolve_channel(
        ChannelUri.parse(channel + keys),
        lambda *_: SocketAddress.of("127.0.0.1", 5044),
        is_publication=is_publication,
    )


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize(
    "keys",
    [
        "|mtu=0",
        "|mtu=32",
        "|mtu=33",
        "|mtu=100",
        "|mtu=65536",
        "|rcv-wnd=0",
        "|rcv-wnd=4095",
    ],
)
def test_impossible_images_are_refused_with_the_key(channel, keys):
    with pytest.raises(ChannelUriError, match=rf"{keys[1:]} in .*: must be"):
        resolve(channel, keys)


@pytest.mark.parametrize("term_length", ["0", "1", "32k", "100k", "2g"])
def test_an_invalid_term_length_is_refused_with_the_key(term_length):
    with pytest.raises(ChannelUriError, match=f"term-length={term_length} in .*: must be"):
        resolve("aeron:lumberjack?endpoint=127.0.0.1:5044", f"|term-length={term_length}")


@pytest.mark.parametrize("channel", CHANNELS)
def test_publications_have_no_images(channel):
    assert resolve(channel, "|rcv-wnd=1", is_publication=True)


def test_a_window_without_space_for_the_longest_message_is_refused():
    with pytest.raises(
        ChannelUriError, match=r"rcv-wnd=64k in .*: images hold messages of at most 32736 bytes"
    ):
        PairTransport().resolve_channel(
            ChannelUri.parse("aeron:sp?endpoint=127.0.0.1:5044|mode=listen|max-message=40k|rcv-wnd=64k"),
            lambda *_: SocketAddress.of("127.0.0.1", 5044),
            is_publication=False,
        )


@pytest.mark.parametrize("mtu", [64, 96, 1408, 8192, 32768])
@pytest.mark.parametrize("window", [None, 4096, 8192, 32768, 65536, 1 << 20])
def test_the_longest_message_fits_behind_padding_that_is_nearly_as_long(mtu, window):
    length = longest_message(65536, mtu, window)
    frames = positions.fragmented_length(length, mtu - 32)
    assert 0 <= length <= positions.max_message_length(65536)
    assert 2 * frames - 32 <= min(window or 32768, 32768)
    # One byte more would not fit, unless the term limits the length.
    more = positions.fragmented_length(length + 1, mtu - 32)
    assert length == 8192 or 2 * more > min(window or 32768, 32768)
