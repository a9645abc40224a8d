"""Keys of SP channels that are wrong, or contradict each other."""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

import pytest
from aeron_media.sp.parameters import PairParameters

from aeron_core.errors import ChannelUriError
from aeron_core.uri.channel_uri import ChannelUri


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("tls=maybe", "tls=maybe in {uri!r}: must be true or false"),
        ("tls=true", "tls=true in {uri!r}: must agree with transport=tcp"),
        ("transport=wss|tls=false", "tls=false in {uri!r}: must agree with transport=wss"),
        ("transport=what|tls=maybe", "transport=what in {uri!r}: "),
    ],
)
def test_a_wrong_switch_of_tls_is_refused_with_its_key_and_channel(keys, text):
    uri = f"aeron:sp?endpoint=localhost:9000|mode=dial|{keys}"

    with pytest.raises(ChannelUriError, match="^" + re.escape(text.format(uri=uri))):
        PairParameters.parse(ChannelUri.parse(uri))


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("transport=ipc|path=" + "x" * 108, ": must have from 1 to 107 bytes, has 108"),
        ("transport=ipc|path=%C3%A4" + "x" * 106, ": must have from 1 to 107 bytes, has 108"),
        ("transport=abstract|path=" + "x" * 107, ": must have from 1 to 106 bytes, has 107"),
        ("transport=ipc|path=/run/pair%00/../../etc/passwd", "must not contain a zero byte (%00)"),
        ("transport=ipc|path=%00hidden", "must not contain a zero byte (%00)"),
        ("transport=ipc|path=", "must be given with transport=ipc"),
        ("transport=abstract", "must be given with transport=abstract"),
        ("transport=ipc|path=/run/pair|endpoint=localhost:1", "has no effect with transport=ipc"),
        ("transport=abstract|path=pair|permissions=600", "requires transport=ipc"),
        ("transport=ipc|path=/run/pair|permissions=4755", "|permissions=4755': must be octal, from 0 to 777"),
        ("transport=ipc|path=/run/pair|permissions=-1", "must be octal, from 0 to 777"),
        ("transport=what|path=/run/pair", "must be 'tcp', 'ipc', 'abstract', 'tls', 'ws' or 'wss'"),
        (
            "endpoint=a:1|path=/run/pair",
            "has no effect with transport=tcp: remove it, or set transport= to ipc",
        ),
        ("endpoint=a:1|backoff-max=1ms", "must be at least backoff-init=100ms"),
        ("endpoint=a:1|backoff-init=1min", "': the default, 5s, must be at least backoff-init=60s"),
    ],
)
@pytest.mark.parametrize("mode", ["listen", "dial"])
def test_a_wrong_path_of_a_socket_is_refused_with_the_channel(mode, keys, text):
    uri = ChannelUri.parse(f"aeron:sp?mode={mode}|{keys}")

    with pytest.raises(ChannelUriError, match=re.escape(text)) as failure:
        PairParameters.parse(uri)
    assert str(uri) in str(failure.value)


@pytest.mark.parametrize("path", ["/run/pair", "x" * 107, "%2Frun%2F%FF", "relative/../pair"])
def test_a_path_of_a_socket_may_have_any_bytes_but_zero(path):
    uri = ChannelUri.parse(f"aeron:sp?mode=listen|transport=ipc|path={path}")

    assert PairParameters.parse(uri).local_address().packed == unquote_to_bytes(path)
