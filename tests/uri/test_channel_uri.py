import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeron_core.errors import ChannelUriError, ErrorCode
from aeron_core.uri.addresses import HostPort, InterfaceSpec
from aeron_core.uri.channel_uri import INVALID_TAG, MAX_URI_LENGTH, ChannelUri

MEDIA = st.from_regex(r"[a-z][a-z0-9+.-]{0,8}", fullmatch=True)
KEYS = st.text(st.characters(exclude_characters="|=\0", codec="utf-8"), min_size=1, max_size=12)
VALUES = st.text(st.characters(exclude_characters="|\0", codec="utf-8"), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("text", "prefix", "media", "params"),
    [
        ("aeron:ipc", "", "ipc", {}),
        ("aeron:ipc?", "", "ipc", {}),
        ("aeron:udp?", "", "udp", {}),
        ("aeron:ipc?alias=a b", "", "ipc", {"alias": "a b"}),
        ("aeron:udp?endpoint=localhost:1|mtu=8k", "", "udp", {"endpoint": "localhost:1", "mtu": "8k"}),
        ("aeron-spy:aeron:udp?control-mode=manual", "aeron-spy", "udp", {"control-mode": "manual"}),
        ("aeron:lumberjack?endpoint=[::]:5044", "", "lumberjack", {"endpoint": "[::]:5044"}),
        ("aeron:sp+tcp.v1-x", "", "sp+tcp.v1-x", {}),
        ("aeron:udp?a=b=c", "", "udp", {"a": "b=c"}),
        ("aeron:udp?a=b?c", "", "udp", {"a": "b?c"}),
        ("aeron:udp?a==", "", "udp", {"a": "="}),
        ("aeron:udp?a=b|", "", "udp", {"a": "b"}),
        ("aeron:udp?a=b|unterminated", "", "udp", {"a": "b"}),
        ("aeron:udp?a=b|unterminated=", "", "udp", {"a": "b"}),
    ],
)
def test_uri_is_split_into_prefix_media_and_parameters(text, prefix, media, params):
    uri = ChannelUri.parse(text)

    assert (uri.prefix, uri.media, dict(uri.params)) == (prefix, media, params)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "must start with 'aeron:'"),
        ("udp?endpoint=localhost:1", "must start with 'aeron:'"),
        ("aeron", "must start with 'aeron:'"),
        ("AERON:ipc", "must start with 'aeron:'"),
        ("spy:aeron:ipc", "must start with 'aeron:'"),
        ("aeron-spy:aeron-spy:aeron:ipc", "must start with 'aeron:'"),
        ("aeron:", "media ''"),
        ("aeron:?a=b", "media ''"),
        ("aeron:UDP?a=b", "media 'UDP'"),
        ("aeron:1udp?a=b", "media '1udp'"),
        ("aeron:ipc|a=b", "media 'ipc|a=b'"),
        ("aeron:udp", "must be followed by '?'"),
        ("aeron-spy:aeron:udp", "must be followed by '?'"),
        ("aeron:udp?a|b=c", "invalid end of key 'a'"),
        ("aeron:udp?|a=b", "invalid end of key ''"),
        ("aeron:udp?a=b||c=d", "invalid end of key ''"),
        ("aeron:udp?=b", "empty key not allowed"),
        ("aeron:udp?a=b|=c", "empty key not allowed"),
        ("aeron:udp?a=|b=c", "empty value not allowed for 'a'"),
        ("aeron:udp?a=b\0c", "nor contain '|' or NUL"),
        # A stream that shall be sealed must not be in clear because a variable is empty.
        ("aeron:udp?a=b|security=", "empty value not allowed for 'security'"),
        ("aeron:udp?a=b|security", "empty value not allowed for 'security'"),
    ],
)
def test_syntax_errors_have_the_code_invalid_channel(text, reason):
    with pytest.raises(ChannelUriError) as caught:
        ChannelUri.parse(text)

    assert reason in str(caught.value)
    assert caught.value.code is ErrorCode.INVALID_CHANNEL


def test_uri_may_be_4095_bytes_long_and_no_longer():
    longest = "aeron:ipc?alias=" + "x" * (MAX_URI_LENGTH - len("aeron:ipc?alias="))

    assert str(ChannelUri.parse(longest)) == longest
    with pytest.raises(ChannelUriError, match="exceeds max supported length"):
        ChannelUri.parse(longest + "x")


@pytest.mark.parametrize("letter", ["x", "é"])
def test_the_error_for_a_long_uri_has_as_much_of_it_as_is_allowed(letter):
    text = "aeron:ipc?alias=" + letter * 5000

    with pytest.raises(ChannelUriError) as caught:
        ChannelUri.parse(text)

    shown = str(caught.value).partition("): ")[2]
    assert str(caught.value).startswith(
        f"URI length ({len(text.encode())}) exceeds max supported length (4095): "
    )
    assert text.startswith(shown)
    assert MAX_URI_LENGTH - 1 <= len(shown.encode()) <= MAX_URI_LENGTH


@pytest.mark.parametrize("text", ["", "aeron", "udp?endpoint=a:1", "aeron:", "aeron:?a=b", "aeron:udp"])
def test_a_uri_without_scheme_or_media_is_shown_whole(text):
    with pytest.raises(ChannelUriError) as caught:
        ChannelUri.parse(text)

    assert f"invalid URI scheme or transport: {text}: " in str(caught.value)


def test_the_length_is_counted_in_bytes_not_in_characters():
    with pytest.raises(ChannelUriError, match="exceeds max supported length"):
        ChannelUri.parse("aeron:ipc?alias=" + "é" * 2040)


@pytest.mark.parametrize("key", ["endpoint", "interface", "control", "control-mode", "tags", "ttl"])
def test_last_of_equal_keys_wins_for_the_named_ones(key):
    assert ChannelUri.parse(f"aeron:udp?{key}=1|{key}=2").get(key) == "2"


@pytest.mark.parametrize("key", ["mtu", "session-id", "alias", "fc", "whatever"])
def test_first_of_equal_keys_wins_for_all_others(key):
    assert ChannelUri.parse(f"aeron:udp?{key}=1|{key}=2").get(key) == "1"


def test_keys_are_compared_exactly():
    uri = ChannelUri.parse("aeron:udp?group-x=true|Group=true")

    assert "group" not in uri
    assert uri.get("group") is None
    assert uri.get("group", "infer") == "infer"


@given(st.sampled_from(["", "aeron-spy"]), MEDIA, st.dictionaries(KEYS, VALUES, max_size=6))
def test_written_uri_is_read_back(prefix, media, params):
    uri = ChannelUri(media, params, prefix)

    again = ChannelUri.parse(str(uri))

    assert again == uri
    assert hash(again) == hash(uri)
    assert list(again.params.items()) == list(params.items())
    assert str(again) == str(uri)


@given(st.text(max_size=80), st.sampled_from(["", "aeron:", "aeron:udp?", "aeron:ipc?a=b|"]))
def test_any_text_is_parsed_or_rejected_with_a_channel_uri_error(text, start):
    try:
        uri = ChannelUri.parse(start + text)
    except ChannelUriError:
        return
    assert ChannelUri.parse(str(uri)) == uri


@pytest.mark.parametrize(
    ("getter", "text", "value"),
    [
        ("get_int32", "-1", -1),
        ("get_int32", "0x10", 16),
        ("get_int64", str(2**62), 2**62),
        ("get_size", "64k", 65536),
        ("get_duration_ns", "5ms", 5_000_000),
        ("get_bool", "true", True),
        ("get_address", "[::1]:80", HostPort("::1", 80)),
        ("get_interface", "10.0.0.0/8", InterfaceSpec("10.0.0.0", 0, 8)),
    ],
)
def test_typed_getters_convert_the_text_and_fall_back_to_the_default(getter, text, value):
    uri = ChannelUri.parse(f"aeron:udp?key={text}")

    assert getattr(uri, getter)("key", None) == value
    assert getattr(uri, getter)("other", 42) == 42


@pytest.mark.parametrize(
    ("getter", "text", "kind", "allowed"),
    [
        ("get_int32", "2147483648", " as int32_t in URI", "from -2147483648 to 2147483647"),
        ("get_int64", "x", " as int64_t in URI", "must be a decimal"),
        ("get_size", "64kb", " in URI", "suffix k, m or g"),
        ("get_duration_ns", "5m", " in URI", "unit ns, us, ms, s, min, h or d"),
        ("get_bool", "yes", " as bool from URI", "must be true or false"),
        ("get_address", "localhost", " in URI", "must be host:port"),
        ("get_interface", "{", " in URI", "must be address"),
    ],
)
def test_the_error_for_a_value_has_key_value_uri_and_allowed_values(getter, text, kind, allowed):
    uri = ChannelUri.parse(f"aeron:udp?key={text}")

    with pytest.raises(ChannelUriError) as caught:
        getattr(uri, getter)("key", 0)

    assert str(caught.value).startswith(f"could not parse key={text}{kind}: ")
    assert str(caught.value).endswith(f": channel=aeron:udp?key={text}")
    assert allowed in str(caught.value)
    assert caught.value.code is ErrorCode.GENERIC_ERROR


@pytest.mark.parametrize(
    ("tags", "channel_tag", "entity_tag"),
    [("7", 7, INVALID_TAG), ("7,8", 7, 8), (",8", INVALID_TAG, 8), ("7,", 7, INVALID_TAG), ("7x,-8", 7, -8)],
)
def test_tags_are_two_numbers_that_may_each_be_missing(tags, channel_tag, entity_tag):
    uri = ChannelUri.parse(f"aeron:udp?tags={tags}")

    assert (uri.channel_tag, uri.entity_tag) == (channel_tag, entity_tag)


def test_uri_without_tags_has_invalid_tags():
    uri = ChannelUri.parse("aeron:ipc")

    assert (uri.channel_tag, uri.entity_tag) == (INVALID_TAG, INVALID_TAG)


def test_a_wrong_channel_tag_has_the_code_invalid_channel():
    with pytest.raises(ChannelUriError, match="could not parse channel tag string: x") as caught:
        _ = ChannelUri.parse("aeron:udp?tags=x").channel_tag
    assert caught.value.code is ErrorCode.INVALID_CHANNEL


@pytest.mark.parametrize("tag", ["x", "7x", "1,2", str(2**63)])
def test_a_wrong_entity_tag_has_the_code_generic_error(tag):
    with pytest.raises(ChannelUriError, match=f"Entity tag invalid: {tag}") as caught:
        _ = ChannelUri.parse(f"aeron:udp?tags=1,{tag}").entity_tag
    assert caught.value.code is ErrorCode.GENERIC_ERROR


def test_the_kind_of_channel_follows_from_prefix_and_medium():
    assert ChannelUri.parse("aeron:ipc").is_ipc
    assert ChannelUri.parse("aeron:udp?").is_udp
    assert ChannelUri.parse("aeron-spy:aeron:udp?").is_spy
    assert not ChannelUri.parse("aeron:sp").is_udp


def test_a_uri_is_immutable():
    params = {"a": "b"}
    uri = ChannelUri("ipc", params)

    params["a"] = "c"

    assert uri.get("a") == "b"
    with pytest.raises(TypeError):
        uri.params["a"] = "c"
    with pytest.raises(AttributeError):
        uri.media = "udp"


def test_with_params_sets_and_removes_keys_in_place():
    uri = ChannelUri.parse("aeron:udp?endpoint=localhost:1|mtu=8k|alias=x")

    changed = uri.with_params({"mtu": 1408, "alias": None, "sparse": True})

    assert str(changed) == "aeron:udp?endpoint=localhost:1|mtu=1408|sparse=true"
    assert str(uri) == "aeron:udp?endpoint=localhost:1|mtu=8k|alias=x"


def test_replace_changes_media_and_prefix():
    uri = ChannelUri.parse("aeron:udp?a=b")

    assert str(uri.replace(prefix="aeron-spy")) == "aeron-spy:aeron:udp?a=b"
    assert str(uri.replace(media="ipc")) == "aeron:ipc?a=b"


@pytest.mark.parametrize("value", ["a|b", "a=b", "a?b", ""])
def test_with_params_rejects_values_with_separators(value):
    with pytest.raises(ChannelUriError, match="must neither be empty nor contain"):
        ChannelUri.parse("aeron:ipc").with_params({"alias": value})


@pytest.mark.parametrize(("media", "prefix"), [("UDP", ""), ("", ""), ("udp", "spy")])
def test_the_constructor_rejects_what_parse_rejects(media, prefix):
    with pytest.raises(ChannelUriError):
        ChannelUri(media, {}, prefix)


def test_the_repr_of_a_uri_is_an_expression_that_gives_it_back():
    uri = ChannelUri.parse("aeron-spy:aeron:udp?endpoint=localhost:1|mtu=8k")

    assert repr(uri) == "ChannelUri.parse('aeron-spy:aeron:udp?endpoint=localhost:1|mtu=8k')"
    assert eval(repr(uri)) == uri


def test_a_uri_is_not_equal_to_its_text():
    assert ChannelUri.parse("aeron:ipc") != "aeron:ipc"
