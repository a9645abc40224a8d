"""Keys of SP channels that are wrong, or contradict each other."""

from __future__ import annotations

import re

import pytest
from aeron_media.sp.parameters import PairParameters

from aeron_core.errors import ChannelUriError
from aeron_core.uri.channel_uri import ChannelUri


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("tls=maybe", "tls=maybe in {uri!r}: 'maybe': must be true or false"),
        ("tls=true", "tls=true in {uri!r}: must agree with transport=tcp"),
        ("transport=wss|tls=false", "tls=false in {uri!r}: must agree with transport=wss"),
        ("transport=what|tls=maybe", "transport=what in {uri!r}: "),
    ],
)
def test_a_wrong_switch_of_tls_is_refused_with_its_key_and_channel(keys, text):
    uri = f"aeron:sp?endpoint=localhost:9000|mode=dial|{keys}"

    with pytest.raises(ChannelUriError, match="^" + re.escape(text.format(uri=uri))):
        PairParameters.parse(ChannelUri.parse(uri))
