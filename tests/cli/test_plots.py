"""Plots of histories, latencies and losses."""

import math
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from observed import records_of, snapshot

from aeron_core.cli.messages.latency import Latencies
from aeron_core.cli.plots import history_plot, series
from aeron_core.cli.plots.latency_plot import draw_latencies
from aeron_core.cli.plots.loss_plot import draw_losses
from aeron_core.cli.plots.series import Series
from aeron_core.concurrent.loss_report import LossEntry
from aeron_core.observation import CounterHistoryWriter

pytest.importorskip("matplotlib")
pytest.importorskip("pyarrow")

PNG = b"\x89PNG\r\n"


def texts(path):
    """Return the texts of an SVG file."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text(encoding="utf-8"))


def at(number, **changes):
    positions = {
        "pub_pos": number * 1000, "pub_lmt": 10_000, "snd_pos": number * 900, "snd_lmt": 10_000,
        "rcv_hwm": number * 900, "rcv_pos": number * 800, "sub_pos": number * 700,
    }  # fmt: skip
    return replace(snapshot(*records_of(**positions), at_s=number), **changes)


@pytest.fixture
def history(tmp_path):
    """A history of ten seconds of one stream, with losses."""
    losses = (LossEntry(1, 64, 2, 3, 7, 1001, "aeron:udp", "1.2.3.4:5"),)
    with CounterHistoryWriter(tmp_path / "history.arrows") as writer:
        for number in range(10):
            writer.write(at(number, losses=losses))
    return writer.path


def test_rates_lags_and_losses_of_the_streams_are_drawn(aeron, history, tmp_path):
    outcome = aeron("plot", history, "--output", tmp_path / "plot.svg")

    assert (outcome.code, outcome.out) == (0, "")
    found = texts(tmp_path / "plot.svg")
    assert {"bytes per second", "bytes behind", "bytes lost"} <= set(found)
    assert {"stream 1001 not sent", "stream 1001 not read by 9", "stream 1001 behind a gap"} <= set(found)
    assert "stream 1001 from 1.2.3.4:5" in found
    assert [text for text in found if text.startswith("stream 1001 published aeron:udp")]


def test_a_plot_of_zeros_has_no_scale_of_fractions(aeron, tmp_path):
    with CounterHistoryWriter(tmp_path / "history.arrows") as writer:
        for number in range(3):
            writer.write(at(number, counters=at(0).counters))

    assert aeron("plot", writer.path, "--output", tmp_path / "plot.svg").code == 0

    scales = [text for text in texts(tmp_path / "plot.svg") if text.endswith((" B", "B/s"))]
    assert {"0 B", "10 B", "0 B/s", "10 B/s"} <= set(scales)
    assert not [text for text in scales if text.endswith(("mB", "mB/s"))]


def test_the_plot_is_beside_its_history_by_default(aeron, history):
    outcome = aeron("plot", history)

    assert outcome.err == f"aeron-core: drew {history.with_suffix('.png')}\n"
    assert history.with_suffix(".png").read_bytes().startswith(PNG)


@pytest.mark.parametrize(
    ("options", "expected"),
    [(["--counter", "sub-pos"], 1), (["--type", "snd-pos", "--type", "3"], 2), (["--counter", "."], 7)],
)
def test_chosen_counters_are_drawn_instead_of_streams(aeron, history, tmp_path, options, expected):
    assert aeron("plot", history, "--output", tmp_path / "plot.svg", *options).code == 0

    found = texts(tmp_path / "plot.svg")
    assert {"counters", "change of counters per second"} <= set(found)
    # Each counter is in the legends of both panels.
    assert len([text for text in found if ": " in text and "1001" in text]) == 2 * expected


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        (["--stream", "5"], 2, "none of its 10 snapshots has what was selected"),
        (["--counter", "nothing"], 2, "none of its 10 snapshots"),
        (["--counter", "("], 2, "--counter=(: must be a regular expression"),
        (["--counter", "a", "--stream", "5"], 2, "use only one of both"),
        (["--output", "plot.jpg"], 2, "must end with .png or .svg"),
        (["--output", "/nowhere/plot.png"], 1, "/nowhere/plot.png: No such file"),
    ],
)
def test_what_cannot_be_drawn_is_reported_in_one_line(aeron, history, options, code, text):
    outcome = aeron("plot", history, *options)

    assert (outcome.code, outcome.err.count("\n")) == (code, 1)
    assert text in outcome.err


@pytest.mark.parametrize("options", [[], ["--counter", "."]])
def test_a_history_without_a_snapshot_is_reported_as_such(aeron, tmp_path, options):
    with CounterHistoryWriter(tmp_path / "history.arrows") as writer:
        pass

    outcome = aeron("plot", writer.path, *options)

    assert (outcome.code, outcome.err) == (
        1,
        f"aeron-core: error: {writer.path}: has no snapshot: wait until its recorder has written one, or record the "
        "counters anew\n",
    )
    assert not writer.path.with_suffix(".png").exists()


def test_a_history_without_streams_is_reported_with_what_can_be_drawn(aeron, tmp_path):
    with CounterHistoryWriter(tmp_path / "history.arrows") as writer:
        writer.write(replace(at(1), counters=[]))

    outcome = aeron("plot", writer.path)

    assert (outcome.code, outcome.err) == (
        2,
        f"aeron-core: error: {writer.path}: none of its 1 snapshots has a stream: draw --counter REGEX\n",
    )


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PAR1", b"\xff\xff\xff\xff\x10\0\0\0" * 9])
def test_a_garbled_history_is_reported_in_one_line(aeron, tmp_path, content):
    path = tmp_path / "history.arrows"
    path.write_bytes(content)

    outcome = aeron("plot", path)

    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert str(path) in outcome.err
    assert not path.with_suffix(".png").exists()


def test_a_history_that_was_cut_is_drawn_with_a_warning(aeron, history):
    history.write_bytes(history.read_bytes()[:-50])

    outcome = aeron("plot", history)

    assert outcome.code == 0
    assert "ends within a snapshot" in outcome.err


def test_without_matplotlib_the_extra_is_named(aeron, history, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    outcome = aeron("plot", history)

    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "pip install 'aeron-core[plots]'" in outcome.err


def test_hostile_texts_are_drawn_as_they_are(tmp_path):
    hostile = "$\\frac{_^</text>\x00\x1b[2J" + "\u4e2d" * 300
    plot = history_plot.HistoryPlot()
    for number in range(3):
        plot.add(replace(snapshot(*records_of(hostile, pub_pos=number, pub_lmt=9), at_s=number)))
    plot.add(at(5, losses=(LossEntry(1, 2**63 - 1, -1, -1, 7, 1001, hostile, hostile),)))

    plot.draw(tmp_path / "plot.svg")
    plot.draw(tmp_path / "plot.png")

    text = (tmp_path / "plot.svg").read_text(encoding="utf-8")
    assert "\x00" not in text
    assert "$\\frac{_^" in text


def test_only_the_highest_of_many_lines_are_drawn(tmp_path):
    plot = history_plot.HistoryPlot(selects=lambda record: True)
    for second in range(2):
        records = [replace(each, label=f"counter {n}", value=n, registration_id=n)
                   for n in range(30) for each in records_of(pub_pos=1)]  # fmt: skip
        plot.add(snapshot(*records, at_s=second))

    plot.draw(tmp_path / "plot.svg")

    found = texts(tmp_path / "plot.svg")
    assert found.count("and 18 lower ones") == 2
    assert "counter 29" in found


def test_the_points_of_a_series_are_limited(monkeypatch):
    monkeypatch.setattr(series, "_MAX_POINTS", 8)
    lags, positions = Series("lag", keeps_peaks=True), Series("position")
    for number in range(1000):
        lags.add(number, 50 if number == 500 else 1)
        positions.add(number, number * 10)

    assert max(len(each.times) for each in (lags, positions)) < 8
    assert lags.peak == 50
    assert positions.times == sorted(positions.times)
    assert set(positions.rates().values) == {10.0}


def test_a_rate_has_a_gap_where_a_counter_has_decreased():
    values = Series("a")
    for time_s, value in ((0, 10), (1, 20), (2, 5), (4, 9)):
        values.add(time_s, value)

    first, gap, last = values.rates().values

    assert (first, last) == (10, 2)
    assert math.isnan(gap)


def test_a_rate_has_a_gap_between_times_that_are_equal_as_floats():
    values = Series("a")
    values.add(float(2**62), 1)
    values.add(float(2**62 + 1), 2)

    assert math.isnan(values.rates().values[0])


@pytest.mark.parametrize("count", [1, 2, 10_000])
@pytest.mark.parametrize("ending", [".png", ".svg"])
def test_latencies_are_drawn_with_their_percentiles(tmp_path, count, ending):
    latencies = Latencies()
    for number in range(count):
        latencies.add(5000 + number)

    draw_latencies(tmp_path / f"plot{ending}", "round trips", latencies)

    if ending == ".svg":
        assert {"round trips", "number of messages", "percentiles", "0 %"} <= set(
            texts(tmp_path / "plot.svg")
        )
        assert ("99.9 %" in texts(tmp_path / "plot.svg")) is (count == 10_000)


def test_the_buckets_of_latencies_have_all_of_them():
    latencies = Latencies()
    for value in (1, 1, 5000, 10**9):
        latencies.add(value)

    assert [count for _, count in latencies.buckets()] == [2, 1, 1]


def test_the_losses_of_a_driver_are_drawn(aeron, dead_directory, tmp_path):
    outcome = aeron("loss", "-d", dead_directory, "--plot", tmp_path / "plot.svg")

    assert outcome.code == 0
    assert outcome.out.endswith("1 entries read\n")
    assert [text for text in texts(tmp_path / "plot.svg") if "stream 1001 from 1.2.3.4:5: 1 time, " in text]


def loss_of(total):
    return LossEntry(total // 100 + 1, total, 2, 3, 7, 1001, "aeron:udp", "1.2.3.4:5")


def test_the_losses_of_a_history_are_drawn_when_they_happened(aeron, tmp_path, monkeypatch):
    drawn_lines = []
    monkeypatch.setattr(
        "matplotlib.axes.Axes.plot",
        lambda _axes, times, values, *_, **options: drawn_lines.append((times, values, options.get("label"))),
    )
    totals = [None, None, 100, 100, 100, 700]
    with CounterHistoryWriter(tmp_path / "history.arrows") as writer:
        for number, total in enumerate(totals):
            writer.write(at(number, losses=() if total is None else (loss_of(total),)))

    outcome = aeron("loss", "--history", writer.path, "--plot", tmp_path / "plot.svg")

    assert (outcome.code, outcome.out.splitlines()[1].split(",")[:2]) == (0, ["8", "700"])
    assert drawn_lines == [
        ([2, 3, 4, 5], [100, 0, 0, 600], "stream 1001 from 1.2.3.4:5"),
        ([1, 2, 3, 4, 5], [0, 100, 100, 100, 700], "stream 1001 from 1.2.3.4:5"),
    ]


def test_losses_of_the_next_seconds_are_drawn(aeron, dead_directory, tmp_path):
    plot = tmp_path / "plot.svg"

    outcome = aeron(
        "loss", "-d", dead_directory, "--plot", plot, "--duration", "200ms", "--interval", "100ms"
    )

    assert (outcome.code, outcome.out.endswith("1 entries read\n")) == (0, True)
    assert {"bytes lost per second", "bytes lost", "stream 1001 from 1.2.3.4:5"} <= set(texts(plot))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--duration", "1s"], "--duration=1: only with --plot"),
        (["--history", "a", "-d", "b"], "--history and --aeron-dir=b: only one of them"),
        (["--history", "a", "--duration", "1s", "--plot", "p.svg"], "--history and --duration=1: only one"),
        (["--interval", "0s"], "--interval=0.0: must be more than 0"),
    ],
)
def test_options_of_loss_that_contradict_each_other_are_refused(aeron, options, text):
    outcome = aeron("loss", *options)

    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert text in outcome.err


@pytest.mark.parametrize("json", [[], ["--json"]])
def test_losses_are_shown_although_their_plot_cannot_be_written(aeron, dead_directory, tmp_path, json):
    outcome = aeron("loss", "-d", dead_directory, *json, "--plot", tmp_path / "nowhere" / "plot.svg")

    assert outcome.code == 1
    assert "1.2.3.4:5" in outcome.out
    assert "plot.svg" in outcome.err


def test_a_report_without_losses_is_drawn_too(tmp_path):
    draw_losses(tmp_path / "plot.svg", "losses", [])

    assert "no losses" in texts(tmp_path / "plot.svg")


@pytest.mark.parametrize("command", [["loss"], ["ping", "--messages", "1"]])
def test_a_plot_that_cannot_be_drawn_is_refused_before_the_work(aeron, tmp_path, command):
    outcome = aeron(*command, "-d", tmp_path / "nowhere", "--plot", Path("plot.gif"))

    assert (outcome.code, outcome.err) == (
        2,
        "aeron-core: error: --plot=plot.gif: must end with .png or .svg\n",
    )


@pytest.mark.system
def test_the_round_trips_of_ping_are_drawn(aeron, start, running_driver, tmp_path):
    _, directory = running_driver
    channels = ["--ping-channel", "aeron:ipc", "--pong-channel", "aeron:ipc"]
    start("pong", *channels, "-d", directory)

    outcome = aeron(
        "ping", *channels, "-d", directory, "--messages", "20", "--warm-up", "0", "--timeout", "60",
        "--plot", tmp_path / "plot.svg",
    )  # fmt: skip

    assert outcome.code == 0, outcome.err
    assert "round trips of 20 messages of 32 bytes" in texts(tmp_path / "plot.svg")
