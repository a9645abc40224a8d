"""Channels that clients name: what an archive keeps of them, and that it keeps what protects."""

from __future__ import annotations

import os

import pytest
from served_archives import (
    ALL,
    IPC,
    TIMEOUT_S,
    Served,
    await_true,
    connect,
    expected,
    messages_of,
    record,
    recording_of,
    send,
)

import aeron_core
from aeron_core.archive import SourceLocation
from aeron_core.archive.server.channels import parse, recorded, responses, secured_as, stream_key, stripped
from aeron_core.errors import ArchiveRefusedError
from aeron_core.uri.channel_uri import ChannelUri

SECURED = "aeron:udp?endpoint=127.0.0.1:0|security=orders"
UDP = "aeron:udp?endpoint=127.0.0.1:4000"


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("", "64k"),
        ("|term-length=128k", "128k"),
        ("|term-length=1g|sparse=false", "1m"),
        ("|term-length=1073741824", "1m"),
    ],
)
def test_a_response_stream_takes_little_memory_whatever_its_client_asks_for(given, used):
    uri = responses(parse(UDP + given), is_local=False)

    assert uri.get_size("term-length", None) == ChannelUri.parse(f"aeron:ipc?term-length={used}").get_size(
        "term-length", None
    )
    assert uri.get("sparse") == "true"


def test_a_response_channel_with_a_wrong_term_length_is_refused():
    with pytest.raises(ArchiveRefusedError, match="term-length=x"):
        responses(parse(f"{UDP}|term-length=x"), is_local=False)


@pytest.mark.parametrize(
    ("channel", "is_local"),
    [
        ("aeron:ipc", False),
        ("aeron:lumberjack?endpoint=127.0.0.1:4000", False),
        ("aeron:sp?endpoint=127.0.0.1:4000", True),
        ("aeron-spy:aeron:udp?endpoint=127.0.0.1:4000", True),
        ("aeron:udp?control=127.0.0.1:4000|control-mode=dynamic", False),
        ("aeron:udp?control=127.0.0.1:4000|control-mode=manual", False),
        ("aeron:udp?control=127.0.0.1:4000|endpoint=127.0.0.1:4001", True),
        ("aeron:udp?tags=1", True),
    ],
)
def test_a_response_channel_must_not_bind_connect_or_join_others(channel, is_local):
    with pytest.raises(ArchiveRefusedError, match=r"response channel .*: must be aeron:udp with an endpoint"):
        responses(parse(channel), is_local=is_local)


def test_a_response_stream_has_no_tags_of_other_programs():
    assert "tags" not in responses(parse(f"{UDP}|tags=1"), is_local=True)


def test_the_security_of_a_channel_is_kept():
    uri = parse(f"{UDP}|security=orders")

    assert {
        each.get("security")
        for each in (stripped(uri), responses(uri, is_local=False), recorded(uri, is_local=False))
    } == {"orders"}
    assert stream_key(1, uri) != stream_key(1, parse(UDP))


def test_a_channel_takes_the_security_of_another_one_only_without_its_own():
    plain, orders, other = (
        ChannelUri.parse(UDP + more) for more in ("", "|security=orders", "|security=other")
    )

    assert secured_as(plain, orders).get("security") == "orders"
    assert secured_as(other, orders) == other
    assert secured_as(plain, plain) == plain
    assert secured_as(ChannelUri.parse(IPC), orders) == ChannelUri.parse(IPC)


@pytest.fixture
def secured_driver(tmp_path):
    """Start a driver that accepts secured channels only."""
    key = tmp_path / "key"
    key.touch(0o600)
    key.write_text(os.urandom(32).hex())
    settings = {"security_profiles": f"orders,secret_file={key}", "security_required": True}
    with aeron_core.MediaDriver.launch_embedded(settings) as driver:
        yield driver


@pytest.fixture
def secured(free_port):
    """Return secured channels, each with a port of its own."""
    return lambda: f"aeron:udp?endpoint=127.0.0.1:{free_port()}|security=orders"


def test_requests_responses_recordings_and_replays_are_secured(secured_driver, tmp_path, secured):
    """A driver that requires security refuses each channel that has lost it."""
    control, stream = secured(), f"{secured()}|term-length=64k"
    served = Served(secured_driver, tmp_path / "a", control_channel=control, replication_channel=SECURED)
    try:
        with aeron_core.connect(secured_driver.aeron_dir) as aeron:
            archive = connect(aeron, control_request_channel=control, control_response_channel=SECURED)
            archive.start_recording(stream, 100, SourceLocation.REMOTE)
            publication = aeron.add_exclusive_publication(stream, 100)
            publication.await_connected(TIMEOUT_S)
            send(publication, 100)
            replay = archive.replay(recording_of(archive, publication), secured(), 900, ALL)

            # One frame has the length of the recording's MTU.
            assert messages_of(replay, 100) == expected(100)
    finally:
        served.stop()
    assert served.errors == []


def test_a_replication_is_secured_as_the_control_channel_of_its_source(secured_driver, tmp_path, secured):
    control, errors = secured(), []
    source = Served(secured_driver, tmp_path / "a", control_channel=control, replication_channel=SECURED)
    target = Served(secured_driver, tmp_path / "b", local_control_stream_id=11)
    try:
        with aeron_core.connect(secured_driver.aeron_dir) as aeron:
            recording_id = record(connect(aeron), 100)
            archive = connect(aeron, control_request_stream_id=11, on_error=errors.append)
            archive.replicate(recording_id, control)

            def is_complete() -> bool:
                archive.poll_for_recording_signals()
                return bool(errors) or any(each.stop_position for each in archive.list_recordings())

            await_true(is_complete, "the copy")
            assert errors == []
            assert messages_of(archive.replay(0, IPC, 901, ALL), 100) == expected(100)
    finally:
        target.stop()
        source.stop()
