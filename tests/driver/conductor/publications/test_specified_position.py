"""Sharing of publications whose URI sets the position at which the stream starts."""

import pytest

from aeron_core.errors import ErrorCode, RegistrationError
from aeron_core.testing import Sink

CHANNELS = ["aeron:ipc?", "aeron:udp?endpoint=127.0.0.1:20121|"]
START = "init-term-id=7|term-id=9|term-offset=64"


def publish_some(lone, channel):
    """Return a publication that has sent more than a term since its start."""
    publication = lone.add_publication(channel, 1001)
    sink = Sink(lone.add_subscription(channel.partition("|")[0].partition("?init")[0], 1001))
    start = publication.position
    lone.run_until(lambda: publication.is_connected)
    while publication.position < start + publication.term_buffer_length:
        lone.run_until(lambda: (sink.poll(), publication.offer(bytes(1000)) > 0)[1])
    return publication


@pytest.mark.parametrize("channel", CHANNELS)
def test_the_same_position_is_accepted_again_after_data_was_sent(lone, channel):
    uri = f"{channel}{START}|term-length=64k"
    first = publish_some(lone, uri)

    again = lone.add_publication(uri, 1001)

    assert again.original_registration_id == first.registration_id


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("init-term-id=8|term-id=9|term-offset=64", "'init-term-id': existing=7 requested=8"),
        ("init-term-id=7|term-id=10|term-offset=64", "'term-id': existing=9 requested=10"),
        ("init-term-id=7|term-id=9|term-offset=96", "'term-offset': existing=64 requested=96"),
    ],
)
def test_another_position_is_refused_with_the_start_of_the_stream(lone, channel, asked, message):
    publish_some(lone, f"{channel}{START}|term-length=64k")

    registration = lone.client.add_publication_async(f"{channel}{asked}", 1001)
    lone.run_until(lambda: registration.is_done)

    with pytest.raises(RegistrationError, match="existing publication has different") as raised:
        registration.poll()
    assert message in str(raised.value)
    assert raised.value.code is ErrorCode.GENERIC_ERROR


def test_a_stream_without_a_specified_position_starts_at_its_random_initial_term(lone):
    first = lone.add_publication("aeron:ipc", 1001)
    term_id = first.initial_term_id

    same = lone.add_publication(f"aeron:ipc?init-term-id={term_id}|term-id={term_id}|term-offset=0", 1001)

    assert same.original_registration_id == first.registration_id
