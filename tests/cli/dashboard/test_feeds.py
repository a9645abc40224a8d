"""What the feeds of the page add to drivers: recordings, settings, and recorded histories."""

import asyncio
import json
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from observed import records_of, snapshot

from aeron_core.cli.dashboard.driver_settings import DriverCommandLine, SettingsReader, command_of
from aeron_core.cli.dashboard.feed import LiveFeed
from aeron_core.cli.dashboard.history_feed import HistoryFeed
from aeron_core.cli.dashboard.recordings import ArchiveReader, RecordingSize, recording_table
from aeron_core.cli.dashboard.trends import ALL
from aeron_core.cli.top.sources import DriverStatus, LiveSource, Moment, ObservedDriver
from aeron_core.concurrent import counter_types as types
from aeron_core.concurrent.counters import CounterRecord
from aeron_core.observation import CounterHistoryWriter
from aeron_core.observation.drivers import DriverState


def column(table, name):
    index = [each["name"] for each in table["columns"]].index(name)
    return [row["cells"][index][0] for row in table["rows"]]


def recording_counter(value):
    key = (3).to_bytes(8, "little") + (7).to_bytes(4, "little") + (9).to_bytes(4, "little") + b"aeron:ipc"
    return CounterRecord(0, 1, types.RECORDING_POSITION, 0, key.ljust(112, b"\0"), "rec-pos", value, 0, 0, 0)


def test_recordings_of_counters_are_shown_with_their_growth():
    first, second = (snapshot(recording_counter(value), at_s=s) for s, value in ((0, 1_000), (2, 5_000)))
    driver = ObservedDriver(second.driver, DriverStatus.ALIVE, second, first)

    table = recording_table(Moment(0, (driver,)), {driver.state.aeron_dir: "driver"}, ())

    assert [column(table, name) for name in ("recording", "growth", "position", "channel or source")] == [
        ["3"], ["2.0 kB/s"], ["5,000"], ["aeron:ipc"],
    ]  # fmt: skip


def test_recordings_of_an_archive_are_shown_with_their_size():
    found = RecordingSize("/archive", 4, "abandoned", "aeron:ipc", 5, -7, 9_000, 8_000, 10.0)

    table = recording_table(Moment(0), {}, [found])

    assert column(table, "size") == ["8.0 kB"]
    assert column(table, "where") == ["/archive"]
    assert [cell[2] for cell in table["rows"][0]["cells"]][1]


def test_an_archive_that_cannot_be_read_is_a_problem(tmp_path):
    reader = ArchiveReader([str(tmp_path)])

    reader.read()

    assert reader.found == ()
    assert str(tmp_path) in reader.problems[0]


def test_an_archive_that_does_not_answer_delays_neither_drivers_nor_the_end(monkeypatch):
    is_over = threading.Event()

    def recordings(*_):
        is_over.wait(5)
        return ()

    monkeypatch.setattr(ArchiveReader, "_recordings", recordings)
    feed = LiveFeed(LiveSource(["/missing"]), 0.01, archives=["s3://archive"])

    async def run():
        reading = asyncio.create_task(feed.run())
        woken = asyncio.Event()
        with feed.subscribers.including(woken):
            await asyncio.wait_for(woken.wait(), 4)
        reading.cancel()
        await asyncio.wait([reading])

    try:
        asyncio.run(run())
        assert feed.document(ALL)["recordings"]["total"] == 0
    finally:
        is_over.set()


# The settings are read from the command line, which a fork has from its parent.
@pytest.mark.parametrize("running_driver", ["new"], indirect=True)
def test_the_settings_of_a_running_driver_are_shown_with_their_origin(running_driver):
    _, directory = running_driver
    moment = LiveSource([directory]).read()

    found = {each.name: each for each in SettingsReader().read(moment)}

    assert (found["aeron_dir"].value, found["aeron_dir"].source) == (str(directory), "-D")
    assert (found["timer_interval_ns"].value, found["timer_interval_ns"].source) == ("100ms", "-D")
    assert found["mtu_length"].source == "default"
    assert "recording.durability" in found


def test_a_process_that_is_no_driver_of_the_directory_shows_no_settings():
    state = DriverState(Path("/a/driver"), is_alive=True, pid=os.getpid())
    found = replace(snapshot(), driver=state)

    assert SettingsReader().read(Moment(0, (ObservedDriver(state, DriverStatus.ALIVE, found),))) == ()


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["python", "-m", "aeron_core", "driver", "-Da=b", "-D", "c=d"], DriverCommandLine(["a=b", "c=d"])),
        (["/bin/python", "/bin/aeron-core", "driver", "x.toml"], DriverCommandLine([], [Path("/f/x.toml")])),
        (["aeron-core", "driver", "-d", "here", "--metrics", "h:1"], DriverCommandLine([], [], Path("/f/here"))),
        (["aeron-core", "driver", "--aeron-dir=/there", "--otlp=u"], DriverCommandLine([], [], Path("/there"))),
        (["aeron-core", "sub", "driver"], None),
        (["python", "driver"], None),
        ([], None),
    ],
)  # fmt: skip
def test_settings_follow_from_the_command_line_of_a_driver(arguments, command):
    found = command_of(arguments, Path("/f"))

    if command is None or found is None:
        assert found is command
    else:
        assert [*found.defines] == [*command.defines]
        assert [*found.files] == [*command.files]
        assert found.aeron_dir == command.aeron_dir


class Source:
    """A source with moments that a test has made."""

    def __init__(self, *moments):
        self._moments = list(moments)

    def read(self):
        return self._moments.pop(0)


def test_sessions_get_the_content_of_the_last_reading():
    driver = ObservedDriver(
        snapshot().driver, DriverStatus.ALIVE, snapshot(*records_of(pub_pos=5, pub_lmt=9))
    )
    feed = LiveFeed(Source(Moment(0), Moment(1, (driver,))), 1)

    assert feed.document(ALL) == {}
    feed.read()
    assert feed.document(ALL)["streams"]["total"] == 0
    feed.read()
    assert column(feed.document(ALL)["streams"], "publisher") == ["5"]
    assert feed.document("a scope that does not exist") is feed.document(ALL)
    assert len(json.loads(feed.export())["drivers"]) == 1


@pytest.fixture
def history(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "h.arrows"
    with CounterHistoryWriter(path) as writer:
        for s in range(5):
            writer.write(
                snapshot(*records_of("aeron:ipc", pub_pos=1_000 * s, pub_lmt=9_000, ipc_sub=0), at_s=s)
            )
    return path


def test_each_session_plays_a_history_on_its_own_and_plots_show_all_of_it(history):
    feed = HistoryFeed(history, 1)
    first, second = feed.player(), feed.player()
    second.seek(3)

    documents = [feed.document(ALL, player) for player in (first, second)]

    assert [each["bar"]["player"]["index"] for each in documents] == [0, 3]
    assert [column(each["streams"], "publisher") for each in documents] == [["0"], ["3,000"]]
    throughput = documents[0]["plots"]["panels"][0]
    assert throughput["series"][0]["values"] == [None, 1_000, 1_000, 1_000, 1_000]
    assert documents[1]["plots"]["times"] == [-4, -3, -2, -1, 0]
    assert documents[1]["plots"]["at"] == -1
