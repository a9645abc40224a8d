import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeron_core.errors import ChannelUriError, ErrorCode
from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.defaults import PublicationDefaults, SubscriptionDefaults, TaggedPublication
from aeron_core.uri.parameters import PROTOTYPE_CORRELATION_ID, PublicationParameters, SubscriptionParameters
from aeron_core.uri.socket_buffers import SocketBuffer, check_mtu_fits_socket
from aeron_core.uri.start_position import StartPosition
from aeron_core.uri.untethered_timeouts import UntetheredTimeouts

UDP = "aeron:udp?endpoint=localhost:20121"
SECOND_NS = 1_000_000_000


def publication(text, defaults=None, find_tagged=None):
    return PublicationParameters.parse(ChannelUri.parse(text), defaults or PublicationDefaults(), find_tagged)


def subscription(text, defaults=None):
    return SubscriptionParameters.parse(ChannelUri.parse(text), defaults or SubscriptionDefaults())


def test_publication_without_parameters_has_the_defaults_of_the_reference():
    params = publication(UDP)

    assert params.term_length == 16 << 20
    assert params.mtu == 1408
    assert params.publication_window_length == 8 << 20
    assert params.linger_timeout_ns == 5 * SECOND_NS
    assert params.untethered == UntetheredTimeouts(5 * SECOND_NS, 5 * SECOND_NS, 10 * SECOND_NS)
    assert (params.session_id, params.entity_tag, params.response_correlation_id) == (None, -1, -1)
    assert (params.start, params.flow_control, params.max_resend) == (None, None, 16)
    assert (params.is_sparse, params.signal_eos, params.spies_simulate_connection) == (True, True, False)
    assert (params.has_mtu, params.has_term_length, params.has_max_resend) == (False, False, False)


def test_ipc_publication_has_its_own_default_lengths():
    params = publication("aeron:ipc", PublicationDefaults(ipc_mtu=4096, ipc_publication_window_length=65536))

    assert (params.term_length, params.mtu, params.publication_window_length) == (64 << 20, 4096, 65536)


@pytest.mark.parametrize(
    ("param", "field", "value"),
    [
        ("session-id=-7", "session_id", -7),
        ("session-id=0x10", "session_id", 16),
        ("tags=1,99", "entity_tag", 99),
        ("linger=100ms", "linger_timeout_ns", 100_000_000),
        ("linger=0", "linger_timeout_ns", 0),
        ("term-length=64k", "term_length", 65536),
        ("term-length=1g", "term_length", 1 << 30),
        ("max-resend=256", "max_resend", 256),
        ("mtu=64", "mtu", 64),
        ("mtu=65504", "mtu", 65504),
        ("pub-wnd=4k", "publication_window_length", 4096),
        ("pub-wnd=8m", "publication_window_length", 8 << 20),
        ("sparse=false", "is_sparse", False),
        ("eos=false", "signal_eos", False),
        ("ssc=true", "spies_simulate_connection", True),
        ("response-correlation-id=-1", "response_correlation_id", -1),
        ("response-correlation-id=77", "response_correlation_id", 77),
        ("response-correlation-id=prototype", "response_correlation_id", PROTOTYPE_CORRELATION_ID),
        ("fc=min,g:/3", "flow_control", "min,g:/3"),
        ("control-mode=response", "is_response", True),
    ],
)
def test_publication_takes_its_parameters_from_the_uri(param, field, value):
    assert getattr(publication(f"{UDP}|{param}"), field) == value


@pytest.mark.parametrize(
    ("param", "allowed"),
    [
        ("session-id=x", "must be a decimal"),
        ("session-id=2147483648", "must be a decimal"),
        ("session-id=tag:x", "after tag:"),
        ("tags=1,x", "Entity tag invalid: x: must be a whole decimal number"),
        ("linger=5x", "unit ns, us, ms, s, min, h or d"),
        ("term-length=64kb", "suffix k, m or g"),
        ("term-length=32k", "must be a power of two from 65536 to 1073741824"),
        ("term-length=2g", "must be a power of two from 65536 to 1073741824"),
        ("term-length=65537", "must be a power of two from 65536 to 1073741824"),
        ("max-resend=0", "must be > 0 and <= 256"),
        ("max-resend=257", "must be > 0 and <= 256"),
        ("max-resend=x", "could not parse max-resend=x in URI: must be a number from 1 to 256"),
        ("mtu=32", "must be a multiple of 32 from 64 to 65504"),
        ("mtu=65536", "must be a multiple of 32 from 64 to 65504"),
        ("mtu=1400", "must be a multiple of 32 from 64 to 65504"),
        ("pub-wnd=1k", "cannot be less than the mtu=1408"),
        ("pub-wnd=9m", "must not exceed half the term-length=16777216"),
        ("sparse=yes", "must be true or false"),
        ("eos=1", "must be true or false"),
        ("ssc=x", "must be true or false"),
        ("response-correlation-id=-2", "greater than or equal to -1, or 'prototype'"),
        ("response-correlation-id=x", "greater than or equal to -1, or 'prototype'"),
        ("untethered-window-limit-timeout=x", "unit ns, us, ms, s, min, h or d"),
        ("untethered-linger-timeout=x", "unit ns, us, ms, s, min, h or d"),
        ("untethered-resting-timeout=x", "unit ns, us, ms, s, min, h or d"),
        ("so-sndbuf=1k", "MTU greater than SO_SNDBUF for channel: mtu=1408 so-sndbuf=1024"),
    ],
)
def test_errors_of_a_publication_have_the_allowed_values_and_the_code_generic_error(param, allowed):
    with pytest.raises(ChannelUriError) as caught:
        publication(f"{UDP}|{param}")

    assert allowed in str(caught.value)
    assert param.partition("=")[0] in str(caught.value)
    assert UDP in str(caught.value)
    assert caught.value.code is ErrorCode.GENERIC_ERROR


def test_the_first_error_in_the_order_of_the_reference_is_raised():
    faults = [
        ("session-id=x", "could not parse session-id=x as int32_t in URI"),
        ("tags=1,x", "Entity tag invalid: x"),
        ("linger=x", "could not parse linger=x in URI"),
        ("term-length=1", "term length less than min length of 65536: length=1"),
        ("max-resend=0", "invalid max-resend=0, must be > 0 and <= 256"),
        ("mtu=1", "mtuLength must be a > HEADER_LENGTH and <= MAX_UDP_PAYLOAD_LENGTH: mtuLength=1"),
        ("pub-wnd=1", "pub-wnd=1 cannot be less than the mtu=1408"),
        ("term-id=x", "could not parse term-id=x as int32_t in URI"),
        ("sparse=x", "could not parse sparse=x as bool from URI"),
        ("eos=x", "could not parse eos=x as bool from URI"),
        ("ssc=x", "could not parse ssc=x as bool from URI"),
        (
            "response-correlation-id=x",
            "invalid response-correlation-id, must be a number greater than or equal to -1, or 'prototype'",
        ),
        (
            "untethered-window-limit-timeout=x",
            "could not parse untethered-window-limit-timeout=x in URI",
        ),
        ("untethered-linger-timeout=x", "could not parse untethered-linger-timeout=x in URI"),
        ("untethered-resting-timeout=x", "could not parse untethered-resting-timeout=x in URI"),
    ]

    for first, (_, text) in enumerate(faults):
        with pytest.raises(ChannelUriError) as caught:
            publication("|".join([UDP, *(fault for fault, _ in reversed(faults[first:]))]))
        assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("term-length=2g", "term length greater than max length of 1073741824: length=2147483648"),
        ("term-length=65537", "term length not a power of 2: length=65537"),
        ("mtu=1400", "mtuLength must be a multiple of FRAME_ALIGNMENT: mtuLength=1400"),
        ("pub-wnd=9m", "pub-wnd=9437184 must not exceed half the term-length=16777216"),
        ("session-id=tag:x", "could not parse session-id=tag:x as int64_t in URI due to: "),
        (
            "init-term-id=5|term-id=4|term-offset=0",
            "Param difference greater than 2^31 - 1: init-term-id=5 term-id=4",
        ),
        (
            "init-term-id=0|term-id=0|term-offset=16777248",
            "Param term-offset=16777248 > term-length=16777216",
        ),
        (
            "init-term-id=0|term-id=0|term-offset=33",
            "Param term-offset=33 must be multiple of FRAME_ALIGNMENT",
        ),
        (
            "response-correlation-id=-2",
            "invalid response-correlation-id, must be a number greater than or equal to -1, or 'prototype'",
        ),
        ("media-rcv-ts-offset=x", "Invalid media-rcv-ts-offset: x"),
        (
            "ats=true",
            f"ATS is not enabled and thus ats=true not allowed: channel={UDP}|ats=true",
        ),
    ],
)
def test_an_error_starts_with_the_text_of_the_reference(query, text):
    with pytest.raises(ChannelUriError) as caught:
        publication(f"{UDP}|{query}")

    assert str(caught.value).startswith(text)
    assert f"channel={UDP}|{query}" in str(caught.value)


def test_start_position_is_a_complete_set_of_three():
    params = publication(f"{UDP}|init-term-id=2147483647|term-id=-2147483648|term-offset=96")

    assert params.start == StartPosition(2**31 - 1, -(2**31), 96)


def test_start_position_may_be_the_end_of_a_term():
    params = publication(f"{UDP}|term-length=64k|init-term-id=0|term-id=0|term-offset=65536")

    assert params.start == StartPosition(0, 0, 65536)


@pytest.mark.parametrize(
    ("query", "allowed"),
    [
        ("term-id=1", "must be used as a complete set: missing init-term-id term-offset"),
        ("init-term-id=1|term-id=1", "must be used as a complete set: missing term-offset"),
        ("term-offset=0", "must be used as a complete set: missing init-term-id term-id"),
        ("init-term-id=5|term-id=4|term-offset=0", "at most 2^31 - 1 terms after init-term-id:"),
        ("init-term-id=0|term-id=-2147483648|term-offset=0", "at most 2^31 - 1 terms after init-term-id:"),
        ("init-term-id=0|term-id=0|term-offset=16777248", "from 0 to the term-length=16777216"),
        ("init-term-id=0|term-id=0|term-offset=-32", "from 0 to the term-length=16777216"),
        ("init-term-id=0|term-id=0|term-offset=33", "must be a multiple of 32"),
        ("init-term-id=0|term-id=0|term-offset=x", "must be a decimal"),
    ],
)
def test_an_impossible_start_position_is_rejected(query, allowed):
    with pytest.raises(ChannelUriError) as caught:
        publication(f"{UDP}|{query}")

    assert allowed in str(caught.value)
    assert caught.value.code is ErrorCode.GENERIC_ERROR


def test_a_tagged_session_id_also_copies_mtu_and_term_length():
    lender = TaggedPublication(session_id=77, mtu=8192, term_length=65536)

    params = publication(f"{UDP}|session-id=tag:5|pub-wnd=32k", find_tagged={5: lender}.get)

    assert (params.session_id, params.session_tag) == (77, 5)
    assert (params.mtu, params.term_length, params.publication_window_length) == (8192, 65536, 32768)


def test_tagged_session_id_must_name_a_publication():
    with pytest.raises(ChannelUriError, match="must reference a network publication"):
        publication(f"{UDP}|session-id=tag:5", find_tagged={}.get)


def test_a_tag_is_kept_if_it_cannot_be_resolved():
    params = publication(f"{UDP}|session-id=tag:5")

    assert (params.session_id, params.session_tag) == (None, 5)


@pytest.mark.parametrize("window", [0, 4096])
def test_default_window_is_half_a_term_at_most(window):
    params = publication(f"{UDP}|term-length=64k", PublicationDefaults(publication_window_length=window))

    assert params.publication_window_length == (window or 32768)
    assert (
        publication(UDP, PublicationDefaults(publication_window_length=1 << 30)).publication_window_length
        == 8 << 20
    )


def test_mtu_is_compared_with_the_default_send_buffer():
    with pytest.raises(ChannelUriError, match="SO_SNDBUF for context: mtu=8192 so-sndbuf=4096"):
        publication(f"{UDP}|mtu=8k", PublicationDefaults(socket_sndbuf_length=4096))


@pytest.mark.parametrize(
    ("existing", "own", "default", "text"),
    [
        ("|so-sndbuf=2k", "|so-sndbuf=3k", 5120, "endpoint: mtu=8192 so-sndbuf=2048"),
        ("", "|so-sndbuf=3k", 5120, "endpoint: mtu=8192 so-sndbuf=5120"),
        ("", "|so-sndbuf=3k", 0, "channel: mtu=8192 so-sndbuf=3072"),
        ("", "", 0, "os default: mtu=8192 so-sndbuf=4096"),
    ],
)
def test_mtu_is_compared_with_the_first_length_that_is_set(existing, own, default, text):
    uri, defaults = ChannelUri.parse(f"{UDP}|mtu=8k{own}"), PublicationDefaults(socket_sndbuf_length=default)
    params = PublicationParameters.parse(uri, defaults, compares_sockets=False)

    with pytest.raises(ChannelUriError, match=f"SO_SNDBUF for {text} existingChannel="):
        check_mtu_fits_socket(
            uri,
            params.mtu,
            SocketBuffer(
                params.endpoint.socket_sndbuf_length, default, ChannelUri.parse(UDP + existing), 4096
            ),
        )


@pytest.mark.parametrize(
    ("query", "default_ns", "timeouts"),
    [
        ("", None, UntetheredTimeouts(5 * SECOND_NS, 5 * SECOND_NS, 10 * SECOND_NS)),
        (
            "|untethered-window-limit-timeout=7s",
            None,
            UntetheredTimeouts(7 * SECOND_NS, 7 * SECOND_NS, 10 * SECOND_NS),
        ),
        ("|untethered-window-limit-timeout=7s", 9, UntetheredTimeouts(7 * SECOND_NS, 9, 10 * SECOND_NS)),
        ("|untethered-linger-timeout=8", 9, UntetheredTimeouts(5 * SECOND_NS, 8, 10 * SECOND_NS)),
        ("|untethered-linger-timeout=0", 9, UntetheredTimeouts(5 * SECOND_NS, 9, 10 * SECOND_NS)),
        ("|untethered-resting-timeout=1", None, UntetheredTimeouts(5 * SECOND_NS, 5 * SECOND_NS, 1)),
    ],
)
def test_untethered_linger_follows_the_window_limit_unless_set(query, default_ns, timeouts):
    pub = publication(UDP + query, PublicationDefaults(untethered_linger_timeout_ns=default_ns))
    sub = subscription(UDP + query, SubscriptionDefaults(untethered_linger_timeout_ns=default_ns))

    assert pub.untethered == timeouts
    assert sub.untethered == timeouts


@pytest.mark.parametrize(
    ("text", "reason", "code"),
    [
        (
            "aeron-spy:" + UDP,
            "invalid URI scheme or transport: aeron-spy:.*cannot be a spy",
            ErrorCode.INVALID_CHANNEL,
        ),
        ("aeron:udp?control=localhost:1", "either 'endpoint' or 'control-mode'", ErrorCode.GENERIC_ERROR),
        ("aeron:udp?mtu=8k", "must specify endpoint, control, tags", ErrorCode.INVALID_CHANNEL),
    ],
)
def test_publication_needs_a_channel_to_publish_to(text, reason, code):
    with pytest.raises(ChannelUriError, match=reason) as caught:
        publication(text)
    assert caught.value.code is code


def test_shared_memory_has_no_sockets_to_compare_with():
    assert subscription("aeron:ipc?rcv-wnd=1g|so-rcvbuf=1").endpoint.socket_rcvbuf_length == 0
    assert publication("aeron:ipc?so-sndbuf=1").endpoint.socket_sndbuf_length == 0


@given(st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**31 - 1), st.integers(0, 2048))
def test_any_start_position_of_a_stream_is_accepted(initial_term_id, terms, frames):
    term_id = (initial_term_id + terms + 2**31) % 2**32 - 2**31
    query = f"term-length=64k|init-term-id={initial_term_id}|term-id={term_id}|term-offset={frames * 32}"

    assert publication(f"{UDP}|{query}").start == StartPosition(initial_term_id, term_id, frames * 32)


def test_a_prototype_of_a_response_channel_has_the_shortest_term():
    params = publication(
        "aeron:udp?control=localhost:1|control-mode=response|response-correlation-id=prototype|term-length=1m"
    )

    assert params.response_correlation_id == -2
    assert (params.term_length, params.publication_window_length) == (64 * 1024, 32 * 1024)


def test_lengths_are_not_compared_with_socket_buffers_if_these_do_not_hold_whole_frames():
    uri = ChannelUri.parse(
        "aeron:lumberjack?endpoint=localhost:1|mtu=8k|rcv-wnd=1m|so-sndbuf=4k|so-rcvbuf=4k"
    )

    sent = PublicationParameters.parse(uri, PublicationDefaults(), compares_sockets=False)
    received = SubscriptionParameters.parse(uri, SubscriptionDefaults(), compares_sockets=False)

    assert (sent.mtu, received.initial_window_length) == (8192, 1 << 20)
    with pytest.raises(ChannelUriError, match="MTU greater than SO_SNDBUF"):
        PublicationParameters.parse(uri, PublicationDefaults())
    with pytest.raises(ChannelUriError, match="Initial window greater than SO_RCVBUF"):
        SubscriptionParameters.parse(uri, SubscriptionDefaults())
