"""The command `replay`."""

import json

import pytest

import aeron_core
from aeron_core.recording import Archive
from aeron_core.testing.recordings import SESSION_ID, STREAM_ID, TERM_LENGTH, RecordingUnderTest

pytestmark = pytest.mark.system


@pytest.fixture
def written(tmp_path):
    written = RecordingUnderTest.begin(tmp_path / "archive", mtu_length=1408)
    for _ in range(6):
        written.fill_term(500)
    written.append(b"last")
    written.stop()
    return written


def test_a_replayed_and_recorded_recording_is_identical(running_driver, start, written, tmp_path):
    _, directory = running_driver
    copy = tmp_path / "copy"
    recorder = start("record", "aeron:ipc", STREAM_ID, "--to", copy, "-d", directory, "--timeout", 3)
    options = ("--from", written.store.folder, "--to", "aeron:ipc", "--keep-session", "--json")

    outcome = start("replay", 0, *options, "--begin", TERM_LENGTH, "-d", directory).ended()

    assert outcome.code == 0, outcome.err
    document = json.loads(outcome.out)
    assert (document["begin"], document["end"], document["session_id"]) == (
        TERM_LENGTH, 6 * TERM_LENGTH + 64, SESSION_ID,
    )  # fmt: skip
    assert recorder.ended().code == 0
    recording = Archive.open(copy).recording(0)
    assert recording.start_position == TERM_LENGTH
    data = b"".join(piece for _, piece in recording.read(recording.start_position, recording.position))
    assert data == written.data()[TERM_LENGTH:]
    assert recording.descriptor.is_end_of_stream


def test_a_rate_is_kept(running_driver, start, written):
    _, directory = running_driver
    with (
        aeron_core.connect(directory) as client,
        client.add_subscription("aeron:ipc", STREAM_ID) as subscription,
    ):
        options = ("--from", written.store.folder, "--to", "aeron:ipc", "--end", TERM_LENGTH, "--rate", "64k")
        replay = start("replay", 0, *options, "-d", directory, "--json")
        while replay.popen.poll() is None:
            subscription.poll(lambda buffer, header: None, 100)
        document = json.loads(replay.ended().out)

    # There is no pause after the last block, an eighth of a term.
    assert document["seconds"] >= 0.8


def test_a_missing_subscriber_is_reported(running_driver, start, written):
    _, directory = running_driver

    options = ("--from", written.store.folder, "--to", "aeron:ipc", "--timeout", "0.2")
    outcome = start("replay", 0, *options, "-d", directory).ended()

    assert outcome.code == 1
    assert "was not connected within 0.2 s" in outcome.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rate", "0"), "--rate=0: must be more than 0"),
        (
            ("--begin", 128, "--end", 64),
            "must end at or after its beginning; change --begin or --end",
        ),
        (("--begin", 33), "initial position 33"),
    ],
)
def test_invalid_options_are_refused(aeron, written, options, message):
    outcome = aeron("replay", 0, "--from", written.store.folder, "--to", "aeron:ipc", *options)

    assert outcome.code == 2
    assert message in outcome.err
