"""Parameters of a subscription: from the channel, the defaults, and errors."""

import pytest

from aeron_core.errors import ChannelUriError, ErrorCode
from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.defaults import Inferable, SubscriptionDefaults
from aeron_core.uri.parameters import SubscriptionParameters

UDP = "aeron:udp?endpoint=localhost:20121"


def subscription(text, defaults=None):
    return SubscriptionParameters.parse(ChannelUri.parse(text), defaults or SubscriptionDefaults())


def test_subscription_without_parameters_has_the_defaults_of_the_reference():
    params = subscription(UDP)

    assert (params.is_reliable, params.is_sparse, params.is_tether, params.is_rejoin) == (True,) * 4
    assert params.group is Inferable.INFER
    assert (params.group_tag, params.session_id, params.nak_delay_ns, params.congestion_control) == (
        None,
    ) * 4
    assert params.initial_window_length == 128 * 1024
    assert not params.is_response


@pytest.mark.parametrize(
    ("param", "field", "value"),
    [
        ("reliable=false", "is_reliable", False),
        ("sparse=false", "is_sparse", False),
        ("tether=false", "is_tether", False),
        ("rejoin=false", "is_rejoin", False),
        ("group=true", "group", Inferable.TRUE),
        ("group=infer", "group", Inferable.INFER),
        ("group=false", "group", Inferable.FALSE),
        ("group=whatever", "group", Inferable.FALSE),
        ("session-id=5", "session_id", 5),
        ("rcv-wnd=64k", "initial_window_length", 65536),
        ("gtag=-5", "group_tag", -5),
        ("nak-delay=100us", "nak_delay_ns", 100_000),
        ("cc=cubic", "congestion_control", "cubic"),
        ("control-mode=response", "is_response", True),
    ],
)
def test_subscription_takes_its_parameters_from_the_uri(param, field, value):
    assert getattr(subscription(f"{UDP}|{param}"), field) == value


@pytest.mark.parametrize(
    ("param", "allowed"),
    [
        ("reliable=x", "must be true or false"),
        ("sparse=x", "must be true or false"),
        ("tether=x", "must be true or false"),
        ("rejoin=x", "must be true or false"),
        ("session-id=5x", "must be a decimal"),
        ("rcv-wnd=x", "suffix k, m or g"),
        ("rcv-wnd=1m", "rcv-wnd=1048576 so-rcvbuf=131072"),
        ("so-rcvbuf=64k", "rcv-wnd=131072 so-rcvbuf=65536"),
        ("gtag=x", "must be a decimal"),
        ("nak-delay=x", "unit ns, us, ms, s, min, h or d"),
        ("untethered-linger-timeout=x", "unit ns, us, ms, s, min, h or d"),
    ],
)
def test_errors_of_a_subscription_have_the_allowed_values_and_the_code_generic_error(param, allowed):
    with pytest.raises(ChannelUriError) as caught:
        subscription(f"{UDP}|{param}")

    assert allowed in str(caught.value)
    assert caught.value.code is ErrorCode.GENERIC_ERROR


def test_window_may_be_as_long_as_the_receive_buffer_of_the_channel():
    assert subscription(f"{UDP}|rcv-wnd=2m|so-rcvbuf=2m").initial_window_length == 2 << 20
    assert (
        subscription(f"{UDP}|rcv-wnd=2m", SubscriptionDefaults(socket_rcvbuf_length=0)).initial_window_length
        == 2 << 20
    )


def test_spies_have_no_sockets_to_compare_with():
    assert subscription(f"aeron-spy:{UDP}|rcv-wnd=1m").initial_window_length == 1024 * 1024


def test_spies_subscribe_to_udp_but_not_to_ipc():
    assert subscription("aeron-spy:" + UDP).is_tether
    with pytest.raises(ChannelUriError, match="UDP channels must use UDP URIs") as caught:
        subscription("aeron-spy:aeron:ipc")
    assert caught.value.code is ErrorCode.INVALID_CHANNEL
