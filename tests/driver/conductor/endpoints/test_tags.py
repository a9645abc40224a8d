"""Channels by tag, and sessions by tag."""

import pytest
from refusals import refusal

from aeron_core.client.channel_status import ChannelStatus
from aeron_core.errors import ErrorCode
from aeron_core.testing import Sink
from aeron_core.testing.pair import S

ONE, OTHER = "aeron:udp?endpoint=127.0.0.1:20121", "aeron:udp?endpoint=127.0.0.1:20122"
IPC = "aeron:ipc"


def test_a_publication_shares_the_channel_with_its_tag(lone):
    one = lone.add_publication(f"{ONE}|tags=1", 1001)

    other = lone.add_publication("aeron:udp?tags=1", 1002)

    assert other.channel_status_id == one.channel_status_id
    subscription = lone.add_subscription(ONE, 1002)
    lone.run_until(lambda: other.is_connected and subscription.is_connected)


def test_a_publication_by_tag_is_the_shared_publication_of_the_channel(lone):
    one = lone.add_publication(f"{ONE}|tags=1", 1001)

    assert lone.add_publication("aeron:udp?tags=1", 1001).session_id == one.session_id


def test_a_subscription_shares_the_channel_with_its_tag(lone):
    one = lone.add_subscription(f"{ONE}|tags=1", 1001)

    other = lone.add_subscription("aeron:udp?tags=1", 1002)

    assert other.channel_status_id == one.channel_status_id
    publication = lone.add_publication(ONE, 1002)
    lone.run_until(lambda: publication.is_connected and other.is_connected)


def test_destinations_can_be_added_to_a_channel_by_tag(lone):
    lone.add_subscription("aeron:udp?control-mode=manual|tags=1", 1001)
    by_tag = lone.add_subscription("aeron:udp?tags=1", 1002)

    lone.result(by_tag.add_destination_async(ONE))

    publication = lone.add_publication(ONE, 1002)
    lone.run_until(lambda: by_tag.is_connected and publication.is_connected)
    assert [image.session_id for image in by_tag.images] == [publication.session_id]


def test_a_spy_by_tag_reads_the_publications_of_the_channel(lone):
    publications = [lone.add_publication(channel, 1001) for channel in (f"{ONE}|tags=1", f"{OTHER}|tags=2")]

    spy = lone.add_subscription("aeron-spy:aeron:udp?tags=2", 1001)
    lone.run_until(lambda: spy.is_connected)

    assert [image.session_id for image in spy.images] == [publications[1].session_id]


@pytest.mark.parametrize("add", ["add_publication_async", "add_subscription_async"])
def test_a_tag_that_names_another_address_is_refused(lone, add):
    lone.result(getattr(lone.client, add)(f"{ONE}|tags=1", 1001))

    error = refusal(lone, getattr(lone.client, add)(f"{OTHER}|tags=1", 1001))

    assert "matching tag 1 has mismatched endpoint or control" in str(error)
    assert error.code is ErrorCode.GENERIC_ERROR


def test_a_tag_with_another_control_mode_is_refused(lone):
    lone.add_subscription(f"{ONE}|tags=1", 1001)

    error = refusal(lone, lone.client.add_subscription_async("aeron:udp?control-mode=manual|tags=1", 1002))

    assert "matching tag 1 has mismatched control-mode" in str(error)
    assert error.code is ErrorCode.GENERIC_ERROR


def test_a_publication_with_an_unknown_tag_is_refused(lone):
    lone.add_subscription("aeron:udp?endpoint=127.0.0.1:20121|tags=1", 1001)

    error = refusal(lone, lone.client.add_publication_async("aeron:udp?tags=1", 1001))

    assert "must have explicit control, endpoint, or be manual control-mode when original" in str(error)
    assert "no publication has a channel with tag 1" in str(error)
    assert error.code is ErrorCode.GENERIC_ERROR
    assert lone.driver.find_counters("snd-channel") == []


@pytest.mark.parametrize(
    ("tags", "code"), [("x", ErrorCode.INVALID_CHANNEL), ("1,x", ErrorCode.GENERIC_ERROR)]
)
def test_a_tag_that_is_not_a_number_is_refused(lone, tags, code):
    assert refusal(lone, lone.client.add_publication_async(f"{ONE}|tags={tags}", 1001)).code is code


def test_equal_channels_with_different_tags_have_separate_endpoints(lone):
    one = lone.add_publication(f"{ONE}|tags=1", 1001)
    other = lone.add_publication(f"{ONE}|tags=2", 1001)
    untagged = lone.add_publication(ONE, 1001)

    assert one.channel_status_id != other.channel_status_id
    assert untagged.channel_status_id == one.channel_status_id
    for publication in (one, other, untagged):
        publication.close()
    lone.run_until(lambda: not lone.driver.find_counters("snd-channel"), within_ns=20 * S)


def test_a_tag_can_be_used_again_after_its_channel_is_closed(lone):
    lone.add_subscription(f"{ONE}|tags=1", 1001).close()
    lone.run_until(lambda: not lone.driver.find_counters("rcv-channel"))

    again = lone.add_subscription(f"{OTHER}|tags=1", 1001)

    assert again.channel_status is ChannelStatus.ACTIVE


@pytest.mark.parametrize("channel", [OTHER, IPC + "?"])
def test_a_session_by_tag_is_the_session_of_the_publication_with_that_entity_tag(lone, channel):
    one = lone.add_publication(f"{ONE}|tags=1,7|mtu=2k|term-length=128k", 1001)

    other = lone.add_exclusive_publication(f"{channel}|session-id=tag:7".replace("?|", "?"), 1001)

    assert other.session_id == one.session_id
    assert other.max_payload_length == 2048 - 32
    assert other.term_buffer_length == 128 * 1024


def test_a_session_by_tag_that_the_channel_already_has_is_refused(lone):
    lone.add_publication(f"{ONE}|tags=1,7", 1001)

    error = refusal(
        lone, lone.client.add_exclusive_publication_async("aeron:udp?tags=1|session-id=tag:7", 1001)
    )

    assert "clashing sessionId" in str(error)
    assert error.code is ErrorCode.INVALID_CHANNEL


@pytest.mark.parametrize("add", ["add_publication_async", "add_subscription_async"])
@pytest.mark.parametrize(
    ("session_id", "message"),
    [("tag:8", "must reference a network publication"), ("tag:x", "after tag:"), ("tag:9", "must reference")],
)
def test_a_session_by_an_unknown_tag_is_refused(lone, add, session_id, message):
    lone.add_publication(f"{ONE}|tags=1,7", 1001)
    lone.add_publication(f"{IPC}?tags=1,9", 1001)

    error = refusal(lone, getattr(lone.client, add)(f"{OTHER}|session-id={session_id}", 1001))

    assert message in str(error)
    assert error.code is ErrorCode.GENERIC_ERROR


def test_a_subscription_by_session_tag_receives_only_that_session(lone):
    wanted = lone.add_exclusive_publication(f"{ONE}|tags=1,7|ssc=true", 1001)
    lone.add_exclusive_publication(f"{ONE}|ssc=true", 1001)

    spy = Sink(lone.add_subscription(f"aeron-spy:{ONE}|session-id=tag:7", 1001))
    lone.run_until(lambda: wanted.is_connected)

    assert [image.session_id for image in spy.subscription.images] == [wanted.session_id]


@pytest.mark.parametrize("key", ["so-sndbuf", "so-rcvbuf"])
@pytest.mark.parametrize("add", ["add_publication_async", "add_subscription_async"])
def test_socket_buffer_lengths_that_differ_from_the_existing_ones_are_refused(lone, add, key):
    lone.result(getattr(lone.client, add)(f"{ONE}|{key}=256k", 1001))
    lone.result(getattr(lone.client, add)(f"{ONE}|{key}=256k", 1002))

    error = refusal(lone, getattr(lone.client, add)(f"{ONE}|{key}=512k", 1004))

    assert f"{key}=524288" in str(error)
    assert "does not match existing value of 262144" in str(error)
    assert error.code is ErrorCode.GENERIC_ERROR


@pytest.mark.parametrize(
    ("add", "first", "second", "is_refused"),
    [
        ("add_publication_async", "|so-rcvbuf=256k", "", False),
        ("add_publication_async", "", "|so-rcvbuf=128k", False),
        ("add_publication_async", "", "|so-sndbuf=128k", True),
        ("add_subscription_async", "|so-rcvbuf=256k", "", True),
        ("add_subscription_async", "|so-rcvbuf=128k", "", False),
        ("add_subscription_async", "", "|so-rcvbuf=128k", False),
        ("add_subscription_async", "|so-sndbuf=256k", "", False),
        ("add_subscription_async", "", "|so-sndbuf=128k", True),
    ],
)
def test_a_channel_without_lengths_accepts_any_but_a_subscription_requires_the_defaults(
    lone, add, first, second, is_refused
):
    lone.result(getattr(lone.client, add)(ONE + first, 1001))
    registration = getattr(lone.client, add)(ONE + second, 1002)

    if is_refused:
        assert "does not match existing value of" in str(refusal(lone, registration))
    else:
        lone.result(registration)


def test_an_mtu_greater_than_the_send_buffer_of_the_channel_is_refused(lone):
    lone.add_publication(f"{ONE}|so-sndbuf=4k|tags=1", 1001)

    error = refusal(lone, lone.client.add_publication_async("aeron:udp?tags=1|mtu=8k", 1002))

    assert "MTU greater than SO_SNDBUF for endpoint" in str(error)
    assert error.code is ErrorCode.GENERIC_ERROR
