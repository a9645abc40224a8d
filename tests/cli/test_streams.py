"""Commands that show the streams of a driver."""

import json

import pytest
from observed import records_of

import aeron_core
from aeron_core.cli.tools.streams import _lines, losses_of
from aeron_core.observation.driver_files import DriverFiles
from aeron_core.observation.streams import streams_of


@pytest.fixture
def ipc(tmp_path):
    """A driver with one IPC stream: 10 messages of 64 bytes including headers, 4 of them read."""
    settings = {
        "aeron_dir": tmp_path / "driver",
        "ipc_term_buffer_length": "64k",
        "counters_buffer_length": "1m",
    }
    with (
        aeron_core.MediaDriver.launch(settings) as driver,
        aeron_core.connect(driver.aeron_dir) as client,
        client.add_subscription("aeron:ipc", 8) as subscription,
        client.add_publication("aeron:ipc", 8) as publication,
    ):
        publication.await_connected(timeout=30)
        subscription.await_connected(timeout=30)
        for number in range(10):
            assert publication.offer(b"message %d" % number) > 0
        assert subscription.poll(lambda buffer, header: None, 4) == 4
        yield driver.aeron_dir, publication


def test_the_table_shows_the_lag_of_each_party(ipc, aeron):
    directory, publication = ipc

    out = aeron("streams", "-d", directory).out

    assert f"stream 8  session {publication.session_id}  aeron:ipc" in out
    assert "behind pub-pos" in out
    assert " 256 " in out


def test_streams_are_shown_as_json(ipc, aeron):
    directory, publication = ipc

    (stream,) = json.loads(aeron("streams", "--json", "-d", directory, "--stream", 8).out)

    assert stream["session_id"] == publication.session_id
    (sent,) = stream["publications"]
    assert [subscriber["position"] for subscriber in sent["subscribers"]] == [256]
    assert json.loads(aeron("streams", "--json", "-d", directory, "--stream", 9).out) == []
    assert json.loads(aeron("streams", "--json", "-d", directory, "--session", 1).out) == []


def test_the_backlog_shows_unread_bytes_and_the_publisher_window(ipc, aeron):
    directory, _ = ipc

    (stream,) = json.loads(aeron("backlog", "--json", "-d", directory).out)

    publisher, subscriber = stream["parties"]
    assert (publisher["role"], subscriber["role"]) == ("publisher", "subscriber")
    assert subscriber["position"] == 256
    assert publisher["window"] > 0
    assert "subscriber" in aeron("backlog", "-d", directory).out


def test_stat_shows_only_selected_counters(ipc, aeron):
    directory, publication = ipc

    def labels(*options):
        return [
            counter["label"].partition(":")[0]
            for counter in json.loads(aeron("stat", "--json", "-d", directory, *options).out)["counters"]
        ]

    assert labels("--type", "sub-pos") == ["sub-pos"]
    assert labels("--type", "1") == ["pub-lmt"]
    assert sorted(labels("--stream", 8)) == ["pub-lmt", "pub-pos (concurrent)", "sub-pos"]
    assert labels("--session", publication.session_id, "--type", 4) == ["sub-pos"]
    assert labels("--stream", 9) == []


def lossy_stream(**positions):
    (stream,) = streams_of(records_of(**positions))
    return stream


@pytest.mark.parametrize(
    ("positions", "lost", "row"),
    [
        ({"rcv_hwm": 8000, "rcv_pos": 8000}, 96, ["lost", "96", "1.2", "%", "of", "rcv-pos"]),
        ({"rcv_hwm": 800_000, "rcv_pos": 800_000}, 64, ["lost", "64", "<", "0.1", "%", "of", "rcv-pos"]),
        ({"rcv_hwm": 0, "rcv_pos": 0}, 64, ["lost", "64"]),
        ({"rcv_hwm": 8000, "rcv_pos": 8000}, 0, None),
    ],
)
def test_a_stream_shows_what_was_lost_as_a_share_of_what_was_received(positions, lost, row):
    rows = [line.split() for line in _lines(lossy_stream(**positions), lost)]

    assert next((each for each in rows if each[0] == "lost"), None) == row


def test_the_losses_of_a_driver_are_added_by_stream_and_session(dead_directory):
    assert losses_of(DriverFiles.open(dead_directory)) == {(1001, 7): 64}


def test_a_driver_without_a_loss_report_has_no_losses(dead_directory):
    (dead_directory / "loss-report.dat").unlink()

    assert losses_of(DriverFiles.open(dead_directory)) == {}
