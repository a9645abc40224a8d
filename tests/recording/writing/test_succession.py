"""Clients of earlier recorders: a recorder closes them, so that they do not block the streams."""

import errno
import json
import os

import pytest
from recorded_pair import messages

from aeron_core.errors import ClientError, RecordingError
from aeron_core.testing.pair import MS, S
from aeron_core.testing.recordings import RecordingUnderTest


def test_a_recorder_that_left_blocks_its_stream_until_the_liveness_timeout_of_its_client(pair):
    publication = pair.connected_publication()

    pair.leave()
    pair.run_for(9 * S)
    assert publication.is_connected
    pair.run_for(16 * S)

    assert not publication.is_connected


@pytest.mark.parametrize("end", ["kill_recorder", "leave"])
def test_a_successor_unblocks_the_stream_before_the_liveness_timeout(pair, end):
    publication = pair.connected_publication()
    sent = messages(1000)
    pair.offer(publication, *sent[:100])
    pair.run_until_recorded(publication)
    getattr(pair, end)()
    held = 100
    while publication.offer(sent[held]) > 0:
        held += 1
    pair.run_for(100 * MS)

    pair.start_recorder()
    waited_ns = pair.run_until(lambda: publication.offer(sent[held]) > 0)

    assert waited_ns < 3 * S
    pair.offer(publication, *sent[held + 1 :])
    pair.run_until_recorded(publication)
    assert pair.recorded() == sent
    assert len(pair.archive.recordings()) == 1


def test_a_successor_retries_until_the_driver_takes_the_command_that_closes_its_predecessor(
    pair, monkeypatch
):
    predecessor = pair.subscriber.client_id
    pair.kill_recorder()
    pair.start_recorder()
    retired = []

    def fail(client_id):
        raise ClientError("the driver's command ring is full")

    with monkeypatch.context() as patch:
        patch.setattr(pair.subscriber, "retire_client", fail)
        pair.run_for(3 * S)
    monkeypatch.setattr(pair.subscriber, "retire_client", retired.append)
    pair.run_for(3 * S)

    assert retired == [predecessor]
    assert [str(error) for error in pair.errors] == ["the driver's command ring is full"]


def test_a_successor_that_starts_on_a_full_disk_closes_its_predecessor_and_stores_its_id_later(
    pair, monkeypatch
):
    file = pair.archive.store.folder / "recorder.json"
    before = file.read_bytes()
    pair.kill_recorder()

    def fail(fd):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        pair.start_recorder()
        pair.run_for(3 * S)
        assert file.read_bytes() == before
    assert len(pair.receiver.find_counters("client-heartbeat")) == 1
    pair.run_for(3 * S)

    assert json.loads(file.read_text())["client_ids"] == [pair.subscriber.client_id]
    assert [type(error) for error in pair.errors] == [RecordingError]
    assert "recorder.json: No space left on device" in str(pair.errors[0])


def test_a_successor_leaves_the_client_that_it_could_not_close_to_the_next_recorder(pair, monkeypatch):
    predecessor = pair.subscriber.client_id
    pair.kill_recorder()
    pair.start_recorder()

    def fail(client_id):
        raise ClientError("the driver's command ring is full")

    monkeypatch.setattr(pair.subscriber, "retire_client", fail)
    pair.run_for(3 * S)
    pair.stop_recorder()

    left = json.loads((pair.archive.store.folder / "recorder.json").read_text())
    assert left["client_ids"] == [predecessor]


def test_a_client_that_stops_recording_in_order_is_not_closed_by_its_successor(pair):
    client = pair.subscriber
    pair.recorder.on_close()
    pair.recorder = None
    pair.subscriber = pair.receiver.connect()

    pair.start_recorder()
    pair.run_for(5 * S)

    assert not client.is_closed
    assert pair.receiver.find_counters("client-heartbeat")
    assert len(pair.receiver.find_counters("client-heartbeat")) == 2


def test_clients_of_another_driver_are_not_closed(pair):
    other = pair.sender.connect()
    pair.kill_recorder()
    (pair.archive.store.folder / "recorder.json").write_text(
        f'{{"version":1,"driver":"1-1","client_ids":[{pair.subscriber.client_id}]}}'
    )
    client = pair.subscriber

    pair.start_recorder()
    pair.run_for(5 * S)

    assert not client.is_closed
    assert not other.is_closed


def test_a_damaged_mark_does_not_keep_a_successor_from_closing_the_client_of_its_predecessor(pair):
    left = RecordingUnderTest.begin(pair.archive.store.folder)
    left.writer.abandon()
    pair.kill_recorder()
    (left.folder / "mark").write_bytes(b"x" * 4096)

    pair.start_recorder()
    pair.run_for(3 * S)

    assert len(pair.receiver.find_counters("client-heartbeat")) == 1
