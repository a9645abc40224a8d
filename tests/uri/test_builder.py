import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeron_core.errors import ChannelUriError, ConfigurationError
from aeron_core.uri.builder import ChannelUriBuilder
from aeron_core.uri.channel_uri import ChannelUri

SAMPLES = {
    "endpoint": "localhost:20121",
    "interface": "{eth0}",
    "control": "localhost:20122",
    "control-mode": "dynamic",
    "ttl": 4,
    "reliable": False,
    "term-length": "64k",
    "init-term-id": -5,
    "term-id": 7,
    "term-offset": 64,
    "mtu": 1408,
    "linger": "5s",
    "sparse": True,
    "eos": False,
    "tether": True,
    "group": "infer",
    "rejoin": False,
    "session-id": "tag:4",
    "fc": "min,g:/3,t:5s",
    "gtag": -1,
    "cc": "cubic",
    "ssc": True,
    "ats": False,
    "so-sndbuf": "1m",
    "so-rcvbuf": 0,
    "rcv-wnd": "128k",
    "media-rcv-ts-offset": "reserved",
    "channel-rcv-ts-offset": 8,
    "channel-snd-ts-offset": 16,
    "response-correlation-id": "prototype",
    "nak-delay": "100us",
    "untethered-window-limit-timeout": "5s",
    "untethered-linger-timeout": "6s",
    "untethered-resting-timeout": "10s",
    "max-resend": 16,
    "pub-wnd": "32k",
    "alias": "prices",
    "stream-id": 1001,
}


def test_the_builder_methods_are_named_like_the_keys():
    uri = ChannelUriBuilder().media("udp").endpoint("localhost:20121").mtu(1408).put("key", "value").build()

    assert str(uri) == "aeron:udp?endpoint=localhost:20121|mtu=1408|key=value"


@pytest.mark.parametrize(("key", "value"), SAMPLES.items())
def test_every_key_has_a_method_of_its_name(key, value):
    method = key.replace("-", "_")

    uri = getattr(ChannelUriBuilder().media("udp"), method)(value).build()

    text = str(value).lower() if isinstance(value, bool) else str(value)
    assert dict(uri.params) == {key: text}


@pytest.mark.parametrize("key", SAMPLES)
def test_none_removes_a_key(key):
    builder = ChannelUriBuilder().put(key, "1")

    getattr(builder, key.replace("-", "_"))(None)

    assert key not in builder.build()


@pytest.mark.parametrize(
    ("channel_tag", "entity_tag", "text"),
    [(7, None, "?tags=7"), (7, 8, "?tags=7,8"), (None, 8, "?tags=,8"), (None, None, "")],
)
def test_tags_are_joined_by_a_comma(channel_tag, entity_tag, text):
    assert str(ChannelUriBuilder().tags(channel_tag, entity_tag)) == f"aeron:ipc{text}"


def test_durations_in_nanoseconds_are_written_with_a_unit():
    assert ChannelUriBuilder().linger(5_000_000_000).build().get("linger") == "5s"


@pytest.mark.parametrize("reserved", ["?", "|", "="])
def test_reserved_characters_are_rejected_in_keys_and_values(reserved):
    with pytest.raises(ChannelUriError, match="must neither be empty nor contain"):
        ChannelUriBuilder().alias(f"a{reserved}b")
    with pytest.raises(ChannelUriError, match="must neither be empty nor contain"):
        ChannelUriBuilder().put(f"a{reserved}b", "c")


def test_builder_continues_an_existing_uri():
    uri = ChannelUri.parse("aeron-spy:aeron:udp?endpoint=localhost:1|mtu=8k")

    assert str(ChannelUriBuilder(uri).mtu(None).spy(enabled=False)) == "aeron:udp?endpoint=localhost:1"


@pytest.mark.parametrize(
    ("position", "initial_term_id", "term_id", "term_offset"),
    [(0, 7, 7, 0), (65536 * 3 + 96, 7, 10, 96), (65536, 2**31 - 1, -(2**31), 0)],
)
def test_an_initial_position_is_expressed_by_wrapping_term_ids(
    position, initial_term_id, term_id, term_offset
):
    uri = ChannelUriBuilder().initial_position(position, initial_term_id, 65536).build()

    assert uri.get_int32("init-term-id", None) == initial_term_id
    assert uri.get_int32("term-id", None) == term_id
    assert uri.get_int32("term-offset", None) == term_offset
    assert uri.get_size("term-length", None) == 65536


@pytest.mark.parametrize(("position", "term_length"), [(-32, 65536), (31, 65536), (0, 65537), (0, 0)])
def test_initial_position_must_be_aligned_to_a_frame_in_a_whole_term(position, term_length):
    with pytest.raises(ConfigurationError):
        ChannelUriBuilder().initial_position(position, 0, term_length)


@given(st.dictionaries(st.sampled_from(sorted(SAMPLES)), st.integers(0, 2**31 - 1).map(str)))
def test_built_uri_is_read_back(params):
    builder = ChannelUriBuilder().media("udp")
    for key, value in params.items():
        builder.put(key, value)

    assert dict(ChannelUri.parse(str(builder)).params) == params
