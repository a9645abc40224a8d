"""Error texts that clients of the reference driver match on: channels that conflict with others.

Ours may add to these texts, but contain them.
"""

import pytest
from refusals import refusal

from aeron_core.errors import ErrorCode

UDP = "aeron:udp?endpoint=127.0.0.1:20121"
EXISTS = "option conflicts with existing subscription"


def channel_of(query):
    return f"{UDP}|{query}" if query else UDP


def add_publication(lone, port, key):
    channel = f"aeron:udp?endpoint=127.0.0.1:20999|control=127.0.0.1:{port}|{key}"
    return channel, lone.client.add_publication_async(channel, 1)


def add_dynamic_publication(lone, port, key):
    channel = f"aeron:udp?control=127.0.0.1:{port}|control-mode=dynamic|{key}"
    return channel, lone.client.add_publication_async(channel, 1)


def add_subscription(lone, port, key):
    channel = f"aeron:udp?endpoint=127.0.0.1:{port}|interface=127.0.0.1|{key}"
    return channel, lone.client.add_subscription_async(channel, 1)


def add_destination(lone, port, key):
    channel = f"aeron:udp?endpoint=127.0.0.1:{port}|interface=127.0.0.1|{key}"
    subscription = lone.add_subscription(f"aeron:udp?control-mode=manual|{key}", 1)
    return channel, subscription.add_destination_async(channel)


KINDS = [add_publication, add_dynamic_publication, add_subscription, add_destination]


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_a_port_in_use_is_reported_with_the_whole_channel_of_the_client(lone, first, second):
    lone.result(first(lone, 20121, "alias=first|tags=1001")[1])

    # The second alias is dropped from the parsed channel, but belongs to what the client wrote.
    channel, registration = second(lone, 20121, "alias=second|tags=1002|alias=third")
    error = refusal(lone, registration)

    assert channel in str(error)
    assert error.code is ErrorCode.GENERIC_ERROR
    (record,) = lone.driver.errors()
    assert channel in record.text
    assert "(98) Address already in use" in record.text


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        (UDP, f"{UDP}|control-mode=response", "isResponse=true"),
        (f"{UDP}|control-mode=response|session-id=5", f"{UDP}|session-id=5", "isResponse=false"),
        (f"{UDP}|reliable=false", UDP, "reliable=true"),
        (UDP, f"{UDP}|rejoin=false", "rejoin=false"),
        (UDP, f"{UDP}|media-rcv-ts-offset=8", "media-rcv-ts-offset=8 "),
        (f"{UDP}|channel-rcv-ts-offset=8", UDP, "channel-rcv-ts-offset=-1 (not specified)"),
        (UDP, f"{UDP}|channel-rcv-ts-offset=reserved", "channel-rcv-ts-offset=-8 (reserved)"),
    ],
)
def test_a_conflict_of_subscriptions_names_what_was_asked_and_both_channels(lone, first, second, text):
    lone.add_subscription(first, 1)

    error = refusal(lone, lone.client.add_subscription_async(second, 1))

    assert f"{EXISTS}: {text} existingChannel={first} channel={second}" in str(error)


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ("", "so-sndbuf=64k", "so-sndbuf=65536 does not match existing value of OS default:"),
        ("so-sndbuf=64k", "so-sndbuf=32k", "so-sndbuf=32768 does not match existing value of 65536:"),
        ("", "so-rcvbuf=256k", "so-rcvbuf=262144 does not match existing value of 131072:"),
        ("so-rcvbuf=256k", "", "so-rcvbuf=131072 does not match existing value of 262144:"),
        (
            "",
            "so-rcvbuf=64k",
            "Initial window greater than SO_RCVBUF for channel: rcv-wnd=131072 so-rcvbuf=65536",
        ),
        (
            "so-rcvbuf=256k",
            "rcv-wnd=256k",
            "Initial window greater than SO_RCVBUF for channel: rcv-wnd=262144 so-rcvbuf=131072",
        ),
        ("", "rcv-wnd=1m|so-rcvbuf=64k|reliable=false", f"{EXISTS}: reliable=false"),
        ("", "so-sndbuf=64k|rejoin=false", f"{EXISTS}: rejoin=false"),
    ],
)
def test_a_subscription_with_other_socket_buffers_is_refused_with_both_channels(lone, first, second, text):
    existing, channel = channel_of(first), channel_of(second)
    lone.add_subscription(existing, 1)

    error = refusal(lone, lone.client.add_subscription_async(channel, 1))

    assert f"{text} existingChannel={existing} channel={channel}" in str(error)


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ("", "so-sndbuf=64k", "so-sndbuf=65536 does not match existing value of OS default:"),
        ("", "so-rcvbuf=64k|so-sndbuf=64k", "so-rcvbuf=65536 does not match existing value of 131072:"),
        ("so-sndbuf=4k", "mtu=8k|so-sndbuf=16k", "SO_SNDBUF for endpoint: mtu=8192 so-sndbuf=4096"),
    ],
)
def test_a_publication_with_other_socket_buffers_is_refused_with_both_channels(lone, first, second, text):
    existing, channel = channel_of(first), channel_of(second)
    lone.add_publication(existing, 1)

    error = refusal(lone, lone.client.add_publication_async(channel, 2))

    assert f"{text} existingChannel={existing} channel={channel}" in str(error)


@pytest.mark.parametrize("channel", ["aeron:ipc?", f"{UDP}|"])
def test_a_clashing_session_is_named_with_its_stream_and_channel(lone, channel):
    lone.add_exclusive_publication(f"{channel}session-id=5", 1)

    error = refusal(lone, lone.client.add_exclusive_publication_async(f"{channel}session-id=5", 1))

    assert (
        f"existing publication has clashing sessionId=5 for streamId=1 channel={channel}session-id=5"
        in str(error)
    )


def test_a_publication_with_other_simulation_of_connections_is_refused(lone):
    lone.add_publication(UDP, 1)

    error = refusal(lone, lone.client.add_publication_async(f"{UDP}|ssc=true", 1))

    assert "existing publication has different spies simulate connection: requested=true" in str(error)


@pytest.mark.parametrize("query", ["so-rcvbuf=256k", "so-sndbuf=64k"])
def test_a_manual_subscription_shares_an_endpoint_whatever_its_socket_buffers(lone, query):
    first = lone.add_subscription(f"{UDP}|{query}", 1)

    second = lone.add_subscription(f"{UDP}|control-mode=manual", 1)

    assert second.channel_status_id == first.channel_status_id


@pytest.mark.parametrize("channel", ["aeron:ipc?", f"aeron-spy:{UDP}|"])
@pytest.mark.parametrize("query", ["gtag=x", "nak-delay=x"])
def test_keys_of_a_receiver_do_not_matter_in_shared_memory(lone, channel, query):
    lone.add_subscription(f"{channel}{query}", 1)

    assert lone.driver.errors() == []


def test_an_ipc_publication_is_shared_with_any_value_of_simulated_connections(lone):
    first = lone.add_publication("aeron:ipc", 1)

    second = lone.add_publication("aeron:ipc?ssc=true", 1)

    assert second.session_id == first.session_id
