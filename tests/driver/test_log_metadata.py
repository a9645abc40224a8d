"""Metadata of log buffers: a value that no URI sets is 0, as the reference driver stores it."""

import pytest

from aeron_core.concurrent.mapped_file import open_mapped_file
from aeron_core.driver.socket_lengths import os_default_rcvbuf_length, os_default_sndbuf_length
from aeron_core.logbuffer.descriptor import LogBuffer

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
# Source: aeron_publication_image.c, aeron_network_publication.c and aeron_ipc_publication.c, whose contexts never set
# the maximum lengths.
SOCKETS = {
    "os_default_socket_sndbuf_length": os_default_sndbuf_length(),
    "os_max_socket_sndbuf_length": 0,
    "os_default_socket_rcvbuf_length": os_default_rcvbuf_length(),
    "os_max_socket_rcvbuf_length": 0,
}


def metadata_of(driver, folder):
    (path,) = driver.aeron_dir.glob(f"{folder}/*.logbuffer")
    return LogBuffer(open_mapped_file(path, read_only=True)).metadata()


def selected(metadata, expected):
    return {name: getattr(metadata, name) for name in expected}


def connect(pair, channel=CHANNEL):
    subscription = pair.add_subscription(channel, 1001)
    publication = pair.add_publication(channel, 1001)
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)


@pytest.fixture
def tuned_pair(start_pair):
    """Drivers whose settings differ from 0, and from the defaults of the operating system."""
    return start_pair(max_resend=32, socket_so_rcvbuf_length="256k", socket_so_sndbuf_length="192k")


@pytest.mark.parametrize(
    ("options", "in_uri"),
    [
        ("", {"max_resend": 0, "socket_sndbuf_length": 0, "socket_rcvbuf_length": 0}),
        (
            "|max-resend=7|so-sndbuf=128k|so-rcvbuf=160k",
            {"max_resend": 7, "socket_sndbuf_length": 128 * 1024, "socket_rcvbuf_length": 160 * 1024},
        ),
    ],
    ids=["unset", "set"],
)
def test_a_publication_has_the_values_of_its_uri_not_of_the_settings(tuned_pair, options, in_uri):
    tuned_pair.add_publication(CHANNEL + options, 1001)

    expected = {
        **SOCKETS,
        **in_uri,
        "entity_tag": -1,
        "response_correlation_id": -1,
        "receiver_window_length": 0,
    }
    assert selected(metadata_of(tuned_pair.sender, "publications"), expected) == expected


@pytest.mark.parametrize("options", ["", "|so-sndbuf=128k|so-rcvbuf=160k"])
def test_a_publication_in_shared_memory_has_no_socket_buffers(lone, options):
    lone.add_publication(f"aeron:ipc?term-length=64k{options}", 1001)

    expected = {**SOCKETS, "max_resend": 0, "socket_sndbuf_length": 0, "socket_rcvbuf_length": 0}
    assert selected(metadata_of(lone.driver, "publications"), expected) == expected


@pytest.mark.parametrize(
    ("options", "lengths"),
    [("", (0, 0)), ("|so-sndbuf=128k|so-rcvbuf=160k", (128 * 1024, 160 * 1024))],
    ids=["unset", "set"],
)
def test_an_image_has_the_values_of_its_endpoint_and_no_identity_of_a_publication(
    tuned_pair, options, lengths
):
    connect(tuned_pair, CHANNEL + options)

    expected = {
        **SOCKETS,
        "socket_sndbuf_length": lengths[0],
        "socket_rcvbuf_length": lengths[1],
        "max_resend": 0,
        "entity_tag": 0,
        "response_correlation_id": 0,
        "linger_timeout_ns": 0,
        "publication_window_length": 0,
    }
    assert selected(metadata_of(tuned_pair.receiver, "images"), expected) == expected
