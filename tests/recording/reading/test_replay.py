"""Replay on a simulated network and a manual clock."""

import pytest

from aeron_core.errors import ConfigurationError, CorruptRecordingError
from aeron_core.recording.reading.replay import Replay, replay_channel
from aeron_core.testing import DriverPair
from aeron_core.testing.recordings import (
    INITIAL_TERM_ID,
    SESSION_ID,
    STREAM_ID,
    TERM_LENGTH,
    frame_at,
    padding_at,
)

UDP = "aeron:udp?endpoint=10.0.0.2:20121"
BEGIN, END = 0x80, 0x40


@pytest.fixture
def pair(tmp_path):
    with DriverPair(tmp_path / "drivers") as pair:
        yield pair


@pytest.fixture
def recorded(written):
    """Terms with messages and padding at the end, fragments, padding within a term, and half a term."""
    written.fill_term(700)
    written.append_block(
        frame_at(TERM_LENGTH, b"a" * 100, flags=BEGIN) + frame_at(TERM_LENGTH + 160, b"b", flags=END)
    )
    written.append_block(padding_at(TERM_LENGTH + 224, 4096))
    for _ in range(2):
        written.fill_term(300)
    written.append(b"last" * 100)
    return written


class Replayed:
    """A replay from one driver of a pair to a subscriber of the other."""

    def __init__(self, pair, recorded, begin=0, end=None, keeps_session=True, stream_id=STREAM_ID):
        self.recording = recorded.archive.recording(0)
        self.subscription = pair.add_subscription(UDP, stream_id)
        channel = replay_channel(UDP, self.recording.descriptor, begin, keeps_session=keeps_session)
        publication = pair.add_exclusive_publication(str(channel), stream_id)
        self.publication = publication
        pair.run_until(lambda: publication.is_connected and self.subscription.images)
        self.image = self.subscription.images[0]
        self.first = self.image.position
        self.data = bytearray()
        replay = Replay(self.recording, publication, begin, end or self.recording.position)

        def is_replayed():
            replay.do_work()
            self.image.block_poll(lambda block, session_id, term_id: self.data.extend(block), 1 << 20)
            return replay.is_done and self.image.position == replay.end

        pair.run_until(is_replayed)


def test_a_subscriber_sees_the_same_bytes_at_the_same_positions(pair, recorded):
    replayed = Replayed(pair, recorded)

    assert (replayed.first, replayed.image.position) == (0, recorded.position)
    assert bytes(replayed.data) == recorded.data()
    assert (replayed.image.session_id, replayed.image.initial_term_id) == (SESSION_ID, INITIAL_TERM_ID)
    assert (replayed.image.term_length, replayed.image.mtu_length) == (TERM_LENGTH, 1408)


@pytest.mark.parametrize("begin", [736, TERM_LENGTH, TERM_LENGTH + 160, 3 * TERM_LENGTH])
def test_a_replay_may_begin_at_any_frame(pair, recorded, begin):
    replayed = Replayed(pair, recorded, begin=begin)

    assert replayed.first == begin
    assert bytes(replayed.data) == recorded.data()[begin:]


@pytest.mark.parametrize(("end", "reached"), [(TERM_LENGTH, TERM_LENGTH), (736 + 64, 736)])
def test_a_replay_ends_after_the_last_whole_frame(pair, recorded, end, reached):
    replayed = Replayed(pair, recorded, end=end)

    assert replayed.image.position == reached


def test_a_replay_with_another_session_and_stream_changes_nothing_else(pair, recorded):
    replayed = Replayed(pair, recorded, keeps_session=False, stream_id=7)

    data, whole = bytes(replayed.data), recorded.data()
    assert replayed.image.session_id == replayed.publication.session_id
    assert len(data) == len(whole)
    assert data[:12] + data[20:736] == whole[:12] + whole[20:736]


def test_padding_longer_than_a_message_is_replayed_in_several_frames(pair, written):
    written.append_block(padding_at(0, TERM_LENGTH))
    written.append(b"a")

    replayed = Replayed(pair, written)

    assert replayed.image.position == TERM_LENGTH + 64
    assert bytes(replayed.data[-64:]) == frame_at(TERM_LENGTH, b"a")


def test_a_replay_that_begins_within_a_frame_raises(pair, recorded):
    with pytest.raises(ConfigurationError, match="position 32: no frame begins there"):
        Replayed(pair, recorded, begin=32)


def test_a_publication_at_another_position_raises(pair, recorded):
    publication = pair.add_exclusive_publication(UDP, STREAM_ID)

    with pytest.raises(ConfigurationError, match=r"initial term id .*: must be 7 as in the recording"):
        Replay(recorded.archive.recording(0), publication, 0, 64)


def test_damaged_frames_are_not_replayed(pair, recorded):
    with (recorded.folder / "0-0.rec").open("r+b") as file:
        file.seek(TERM_LENGTH + 32)
        file.write(b"x")

    with pytest.raises(CorruptRecordingError, match=f"recording 0 position {TERM_LENGTH}: "):
        Replayed(pair, recorded)
