"""Combinations of TLS keys, without files."""

from __future__ import annotations

import re

import pytest
from aeron_media.lumberjack.parameters import LumberjackParameters

from aeron_core.errors import ChannelUriError
from aeron_core.uri.channel_uri import ChannelUri


def check(keys, *, connects):
    uri = ChannelUri.parse(f"aeron:lumberjack?endpoint=localhost:5044|tls=true|{keys}")
    LumberjackParameters.parse(uri).check_tls(uri, connects=connects)


@pytest.mark.parametrize(
    ("keys", "connects", "text"),
    [
        ("ca=c|verify=none", True, "ca=c in .*: has no effect with verify=none"),
        ("cert=c|ca=c|client-auth=none", False, "ca=c in .*: has no effect with client-auth=none"),
        ("key-passphrase-file=p", True, "key-passphrase-file=p in .*: requires cert="),
        ("key-passphrase-env=P", True, "key-passphrase-env=P in .*: requires cert="),
        (
            "client-auth=none",
            True,
            "client-auth=none in .*: applies only to an end that listens, but this end",
        ),
        (
            "cert=c|verify=full",
            False,
            "verify=full in .*: applies only to an end that connects, but this end listens",
        ),
        ("key=k", True, "key=k in .*: requires cert="),
    ],
)
def test_a_key_without_effect_is_refused_with_the_channel(keys, connects, text):
    with pytest.raises(ChannelUriError, match=text) as failure:
        check(keys, connects=connects)

    assert re.search(re.escape(keys), str(failure.value))


@pytest.mark.parametrize(
    ("keys", "connects"),
    [
        ("ca=c", True),
        ("ca=c|verify=certificate", True),
        ("verify=none", True),
        ("cert=c|key=k|verify=none|key-passphrase-env=P", True),
        ("cert=c", False),
        ("cert=c|client-auth=none", False),
        ("cert=c|ca=c|client-auth=optional", False),
        ("cert=c|key-passphrase-file=p", False),
    ],
)
def test_keys_with_an_effect_are_accepted(keys, connects):
    check(keys, connects=connects)
