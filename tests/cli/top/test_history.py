"""`aeron-core top` on a recorded history of counters."""

from dataclasses import replace

import pytest
from observed import records_of, snapshot

from aeron_core.concurrent.loss_report import LossEntry
from aeron_core.observation import CounterHistoryWriter

pytest.importorskip("textual")

from top_view import SIZES, driven, lines, loaded, screen_text, tables

from aeron_core.cli.top.playback import Playback

HOSTILE = "aeron:udp?endpoint=[red]x[/red]\x1b[2J\n\u4e2d"


@pytest.fixture
def history(tmp_path):
    """A history of 100 s; from the 50th on, the subscriber of stream 1001 does not poll."""
    pytest.importorskip("pyarrow")
    losses = (LossEntry(1, 64, 2, 3, 7, 1001, HOSTILE, HOSTILE),)
    with CounterHistoryWriter(tmp_path / "history.arrows") as writer:
        for number in range(100):
            read = min(number, 50) * 1000
            sent = min(number * 1000, read + 20_000)
            records = records_of(HOSTILE, pub_pos=min(number * 1000, sent + 4000), pub_lmt=read + 30_000,
                                 snd_pos=sent, snd_lmt=read + 20_000, rcv_hwm=sent, rcv_pos=sent,
                                 sub_pos=read)  # fmt: skip
            writer.write(replace(snapshot(*records, at_s=number), losses=losses))
    return writer.path


@pytest.mark.parametrize("size", SIZES)
def test_a_history_is_stepped_and_sought(history, size):
    async def steps(app, pilot):
        await loaded(app)
        await pilot.press("full_stop", "full_stop", "comma")
        assert "PAUSED x1 2/100 1.0 of 99.0 s" in " ".join(lines(app)[0].split())
        assert tables(app)[0]["rate"] == "1.0 kB/s"
        assert "nothing holds a stream back" in screen_text(app)

        await pilot.press("g", *"80%", "enter")
        await pilot.pause()
        assert "80/100" in lines(app)[0]
        assert "holds stream 1001 back, 20.0 kB behind, and does not poll" in screen_text(app)

        await pilot.press("enter")
        await pilot.pause()
        assert "[red]x[/red]\\x1b[2J\\n" in "".join(lines(app))
        assert "lost from" in screen_text(app)
        await pilot.press("escape", "g", *"soon", "enter")
        await pilot.pause()
        assert "must be" in screen_text(app)

    driven(Playback(history, 1.0), steps, size)


def test_a_history_is_played_at_its_speed_until_its_end(history):
    playback = Playback(history, 1.0)
    playback.advance(5)
    assert playback.index == 0
    playback.load()

    playback.advance(10)
    assert (playback.index, playback.is_playing) == (10, True)
    playback.change_speed(2.0)
    playback.advance(10)
    assert playback.index == 30
    playback.toggle()
    playback.advance(10)
    assert playback.index == 30
    playback.toggle()
    playback.advance(1000)
    assert (playback.index, playback.is_playing) == (99, False)
    playback.toggle()
    assert (playback.index, playback.is_playing) == (0, True)


@pytest.mark.parametrize(
    ("goal", "index"),
    [
        ("12", 11),
        ("50%", 50),
        ("90s", 90),
        ("1500ms", 1),
        ("90000ms", 90),
        ("1D", 99),
        ("1h", 99),
        ("0", 0),
        ("999999", 99),
    ],
)
def test_a_place_in_a_history_is_sought(history, goal, index):
    playback = Playback(history, 1.0)
    playback.load()

    playback.seek_text(goal)

    assert playback.index == index


def test_a_long_history_is_thinned(history, monkeypatch):
    monkeypatch.setattr("aeron_core.cli.top.playback._MOST_COUNTERS", 300)
    playback = Playback(history, 1.0)

    playback.load()

    assert playback.stride == 4
    assert playback.count == 25
    playback.seek_text("50s")
    assert playback.elapsed_s == 48.0
    assert playback.read().drivers[0].rates.seconds == 4.0


def test_the_end_of_the_view_stops_the_reading_of_a_history(history):
    playback = Playback(history, 1.0)

    async def steps(app, pilot):
        assert not playback.is_stopped

    driven(playback, steps)

    assert playback.is_stopped
    stopped = Playback(history, 1.0)
    stopped.is_stopped = True
    stopped.load()
    assert (stopped.count, stopped.is_loaded) == (1, False)


def test_a_history_that_is_cut_is_shown_up_to_there(history):
    history.write_bytes(history.read_bytes()[:-50])

    async def steps(app, pilot):
        await loaded(app)
        await pilot.pause()
        assert "/99" in lines(app)[0]
        assert "not followed: its recorder still runs or was killed" in lines(app)[0]

    driven(Playback(history, 1.0), steps)
