"""Progress bars: each command that may take longer than two seconds and knows its total has one."""

import io
import re

import pytest
import typer
from observed import records_of, snapshot
from pyspark_aeron.pipeline.demo import DemoBars
from rich.console import Console
from terminals import shown_on_a_terminal

import aeron_core
from aeron_core.cli import progress
from aeron_core.cli.dashboard.history_feed import HistoryFeed
from aeron_core.cli.program import make_core_app
from aeron_core.cli.progress import byte_bar, share_bar
from aeron_core.cli.rate import RateDisplay
from aeron_core.cli.shipping.shipped_files import ShippedFiles
from aeron_core.observation.history_writer import CounterHistoryWriter
from aeron_core.registry import Registry
from aeron_core.testing.recordings import RecordingUnderTest

#: Commands with a bar, and what it shows.
WITH_BAR = {
    "bench": "measurements",
    "dashboard": "of a history, what was read",
    "demo": "messages",
    "pipeline demo": "messages, then rows that Spark has read",
    "loss": "of a history, what was read; with --duration, seconds",
    "ping": "round trips",
    "plot": "what was read",
    "pub": "bytes of a file",
    "recordings convert": "bytes",
    "recordings export": "bytes",
    "recordings list": "recordings",
    "recordings purge": "recordings",
    "recordings verify": "bytes",
    "replay": "bytes",
    "ship": "with --once, bytes of the files",
    "stat": "with --history and --duration, seconds",
    "sub": "with --count, messages",
    "top": "of a history, what was read: in its own header",
}
#: Commands without a bar, and why.
WITHOUT_BAR = {
    "archive": "runs until it is stopped",
    "backlog": "reads the counters once, or until it is interrupted",
    "clean": "deletes one directory",
    "device": "runs until it is interrupted",
    "doctor": "ends within two seconds",
    "driver": "runs until it is stopped",
    "errors": "reads one error log, of at most a few MB",
    "keys allow": "ends within two seconds",
    "keys check": "ends within two seconds",
    "keys generate": "ends within two seconds",
    "keys revoke": "ends within two seconds",
    "keys show": "ends within two seconds",
    "log-inspect": "its output shows the progress",
    "man": "ends within two seconds",
    "pipeline check": "does not know how long remote archives take",
    "pipeline plot": "reads one line per batch",
    "pipeline run": "runs until it is interrupted, or until its queries end",
    "plugins list": "ends within two seconds",
    "plugins new": "ends within two seconds",
    "pong": "runs until it is interrupted",
    "record": "runs until it is interrupted",
    "settings show": "ends within two seconds",
    "streams": "reads the counters once, or until it is interrupted",
    "terminate": "does not know when the driver will have ended",
}


def commands(path, group):
    for name, command in getattr(group, "commands", {}).items():
        if getattr(command, "commands", None):
            yield from commands((*path, name), command)
        else:
            yield " ".join((*path, name))


def test_every_command_has_a_bar_or_a_reason_for_none():
    app = make_core_app()
    Registry.load().add_commands(app)

    assert sorted(commands((), typer.main.get_command(app))) == sorted({**WITH_BAR, **WITHOUT_BAR})
    assert not set(WITH_BAR) & set(WITHOUT_BAR)


@pytest.fixture
def drawn(monkeypatch):
    """Pretend that stderr is a terminal; return a function that returns what was drawn on it."""
    out = io.StringIO()
    monkeypatch.setattr(progress, "is_terminal", lambda: True)
    monkeypatch.setattr(
        "rich.console.Console",
        lambda stderr: Console(file=out, force_terminal=True, width=80, no_color=stderr),
    )
    return lambda: re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue()).replace("\r", "\n")


def test_a_bar_shows_the_share_that_is_done(drawn):
    with share_bar("read", 4) as show:
        show(1)
        show(3)

    (last,) = re.findall(r"^read \S+ +(\d+)%.*$", drawn(), re.MULTILINE)[-1:]
    assert last == "75"


def test_a_bar_of_bytes_shows_how_many_are_done(drawn):
    with byte_bar("verified", 2_000_000) as add:
        add(500_000)
        add(500_000)

    assert "1.0/2.0 MB" in drawn().splitlines()[-2]


@pytest.mark.parametrize("bar", [share_bar, byte_bar])
def test_a_pipe_has_no_bar(capfd, bar):
    with bar("read", 4) as advance:
        advance(1)

    assert capfd.readouterr() == ("", "")


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records") / "archive"
    RecordingUnderTest.begin(folder).stop()
    return folder


@pytest.mark.system
@pytest.mark.parametrize(
    ("arguments", "label"),
    [
        (["recordings", "list", "{archive}"], "read"),
        (["recordings", "verify", "{archive}", "--json"], "verified"),
        (["recordings", "export", "{archive}", "0", "--json", "--output", "{folder}/out"], "exported"),
        (["plot", "{history}", "--counter", "pub", "--output", "{folder}/plot.svg"], "read"),
        (["recordings", "purge", "{archive}", "--all", "--json"], "purged"),
    ],
)
def test_a_command_draws_its_bar_on_stderr_of_a_terminal(tmp_path, archive, arguments, label):
    values = {"archive": archive, "folder": tmp_path, "history": tmp_path / "counters.arrows"}
    with CounterHistoryWriter(values["history"]) as writer:
        for second in range(3):
            writer.write(snapshot(*records_of(pub_lmt=100, pub_pos=64 * second), at_s=second))

    shown = shown_on_a_terminal(*(each.format(**values) for each in arguments), stream="stderr")

    assert re.search(rf"{label} \S*\u2501", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown))


@pytest.mark.system
def test_a_recording_of_counters_shows_its_time_on_a_bar(tmp_path):
    with aeron_core.MediaDriver.launch_embedded() as driver:
        shown = shown_on_a_terminal(
            *("stat", "-d", driver.aeron_dir, "--history", tmp_path / "counters.arrows", "--duration", "2s"),
            *("--interval", "10s"),
            stream="stderr",
        )

    shares = [
        int(each)
        for each in re.findall(r"recorded \S+ +(\d+)%", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown))
    ]
    # The only interval is longer than the recording: the bar advances in between.
    assert len(set(shares)) >= 3
    assert shares == sorted(shares)
    assert shares[-1] >= 99


def test_the_demo_of_pipelines_shows_what_is_sent_and_then_what_is_read(drawn, monkeypatch):
    shown = []
    monkeypatch.setattr(RateDisplay, "__exit__", lambda *_: shown.append("sent"))

    with DemoBars(1000) as bars:
        bars.add_sent(1, 100)
        bars.show_read(250)
        bars.show_read(500)
        assert shown == ["sent"]

    assert re.findall(r"^read by Spark \S+ +(\d+)%", drawn(), re.MULTILINE)[-1] == "50"


def test_a_history_that_a_dashboard_reads_has_a_bar(drawn, tmp_path):
    with CounterHistoryWriter(tmp_path / "counters.arrows") as writer:
        writer.write(snapshot(*records_of(pub_lmt=100, pub_pos=64)))

    HistoryFeed(tmp_path / "counters.arrows", 1)

    assert re.search(r"^read .*%", drawn(), re.MULTILINE)


class Shipper:
    """What a display reads of a shipper."""

    file_count, lines, in_flight, bytes, unread_length = 1, 0, 0, 0, 1000


def test_files_that_are_shipped_once_have_a_bar_of_their_bytes(monkeypatch):
    monkeypatch.setattr("aeron_core.cli.shipping.shipped_files.is_terminal", lambda: True)
    monkeypatch.setattr("aeron_core.cli.shipping.shipped_files._INTERVAL_S", 0)
    shown, shipper = ShippedFiles(has_end=True), Shipper()
    seen = []

    # At first all is unread, then in flight, then confirmed.
    for shipper.bytes, shipper.unread_length in ((0, 1000), (0, 400), (600, 0), (1000, 0)):
        shown.show(shipper)
        (task,) = shown._progress.tasks
        seen.append((task.completed, task.total))

    assert seen == [(0, 1000), (0, 1000), (600, 1000), (1000, 1000)]


def test_files_that_grow_have_no_bar(monkeypatch):
    monkeypatch.setattr("aeron_core.cli.shipping.shipped_files.is_terminal", lambda: True)
    monkeypatch.setattr("aeron_core.cli.shipping.shipped_files._INTERVAL_S", 0)
    shown = ShippedFiles()

    shown.show(Shipper())

    assert shown._progress.tasks[0].total is None
