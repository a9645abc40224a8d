import pytest

from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.keys import CHANNEL_KEYS, may_have_unknown_keys, unknown_key_text, unknown_keys


def parsed(query):
    return ChannelUri.parse(f"aeron-spy:aeron:udp?endpoint=localhost:20121|{query}")


def test_a_channel_of_known_keys_has_no_unknown_one():
    uri = parsed("|".join(f"{key}=1" for key in sorted(CHANNEL_KEYS)))

    assert not may_have_unknown_keys(uri)
    assert list(unknown_keys(uri, frozenset())) == []


def test_keys_of_a_medium_are_known():
    uri = parsed("poly=true|mtuu=1408|mode=dial")

    assert may_have_unknown_keys(uri)
    assert list(unknown_keys(uri, {"mode"})) == ["poly", "mtuu"]


@pytest.mark.parametrize(
    ("key", "near"),
    [("mtuu", "mtu"), ("mut", "mtu"), ("MTU", "mtu"), ("term_length", "term-length"), ("ploy", "poly")],
)
def test_the_most_similar_key_is_suggested(key, near):
    assert unknown_key_text(key, {"poly"}) == f"unknown channel key {key}: did you mean {near}?"


def test_a_key_that_resembles_none_is_ignored():
    assert unknown_key_text("xyz", frozenset()) == "unknown channel key xyz: it is ignored"


def test_a_warning_of_a_key_is_short_and_printable():
    assert unknown_key_text("m\nt\udcffu", frozenset()).startswith("unknown channel key m\\nt\\udcffu: ")
    assert unknown_key_text("x" * 4000, frozenset()) == f"unknown channel key {'x' * 64}...: it is ignored"
