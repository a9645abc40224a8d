"""The dashboard in Chromium: what it shows equals its sources, and the form for the token is usable.

In a process of its own: NiceGUI serves once in a process, which test_browser does.
"""

import os
import re
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from types import SimpleNamespace

import pytest
from observed import records_of, snapshot
from pages import CONTRASTS, part, rows

pytest.importorskip("playwright")
pytest.importorskip("nicegui")

from playwright.sync_api import expect
from prometheus_client import CollectorRegistry
from pyspark_aeron.lag import StreamLag
from pyspark_aeron.lag_metrics import LagMetrics

from aeron_core.metrics.access import MetricsAccess
from aeron_core.metrics.server import MetricsServer
from aeron_core.observation import CounterHistoryWriter
from aeron_core.testing.recordings import RecordingUnderTest
from aeron_core.uri.addresses import HostPort

pytestmark = pytest.mark.system
expect.set_options(timeout=60_000)

WIDE, NARROW, TINY = (
    {"width": width, "height": height} for width, height in ((1200, 830), (390, 844), (240, 300))
)
TOKEN = "a-token-of-this-test"
DEADLINE_S = 60


@pytest.fixture(scope="module")
def started():
    """Return a function that starts a command and returns its first line on stderr that matches a pattern."""
    with ExitStack() as stack:

        def call(pattern, *arguments, **environment):
            process = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", "aeron_core", *map(str, arguments)],
                    stderr=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    env=os.environ | environment,
                    text=True,
                )
            )
            stack.callback(process.terminate)
            found = next(found for line in process.stderr if (found := re.search(pattern, line)))
            # What it prints later is shown if a test fails.
            thread = threading.Thread(target=lambda: sys.stderr.writelines(process.stderr), daemon=True)
            thread.start()
            return found

        yield call


@pytest.fixture(scope="module")
def served(started, tmp_path_factory, chromium):
    """A dashboard with a driver, an archive and the metrics of a pipeline, behind a token."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "token").write_text(TOKEN)
    (folder / "token").chmod(0o600)
    lags, registry = LagMetrics(), CollectorRegistry()
    registry.register(lags)
    recording = RecordingUnderTest.begin(folder / "archive")
    with MetricsServer(MetricsAccess(HostPort("127.0.0.1", 0)), registry) as metrics:
        started(
            "metrics at",
            *(
                "driver",
                f"-Daeron.dir={folder / 'driver'}",
                "-Daeron.mtu.length=4096",
                "--metrics",
                "127.0.0.1:0",
            ),
            AERON_TERM_BUFFER_LENGTH="256k",
            AERON_DIR_DELETE_ON_SHUTDOWN="true",
        )
        url = started(
            "dashboard at (.*)",
            *(
                "dashboard",
                "--aeron-dir",
                folder / "driver",
                "--archive",
                folder / "archive",
                "--from",
                metrics.url,
            ),
            *("--interval", "200ms", "--listen", "127.0.0.1:0", "--token-file", folder / "token"),
        )[1]
        yield SimpleNamespace(url=url, lags=lags, recording=recording, archive=folder / "archive")


@pytest.fixture(scope="module")
def opened(browser):
    """Return a function that opens a page; errors of its scripts fail the tests."""
    errors = []
    with ExitStack() as stack:

        def call(url, **options):
            page = browser.new_page(viewport=WIDE, **options)
            stack.callback(page.close)
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.goto(url)
            return page

        yield call
    assert errors == []


@pytest.fixture(scope="module")
def page(opened, served):
    """The page, after the log-in."""
    shown = opened(served.url)
    # What is typed before would be lost.
    expect(shown.locator("input")).to_be_focused()
    shown.keyboard.type(TOKEN)
    shown.keyboard.press("Enter")
    expect(part(shown, "drivers").locator("tbody tr")).to_have_count(1)
    return shown


def awaited(page, name, condition):
    """Return the first row of a table that meets a condition."""
    deadline_s = time.monotonic() + DEADLINE_S
    while True:
        found = [row for row in rows(page, name) if condition(row)]
        if found:
            return found[0]
        assert time.monotonic() < deadline_s, rows(page, name)
        page.wait_for_timeout(50)


def test_sizes_and_growth_of_recordings_are_those_of_the_archive(page, served):
    def has_grown(row):
        if served.recording.position < 50_000:
            served.recording.append(bytes(1000))
        return row["growth"] not in ("-", "0 bytes/s")

    # The archive is read again every five seconds.
    growing = awaited(page, "recordings", has_grown)
    served.recording.stop()
    row = awaited(
        page, "recordings", lambda row: row["growth"] == "0 bytes/s" and row["state"] != growing["state"]
    )

    position = served.recording.position
    assert position > 1000
    assert row["position"] == f"{position:,}"
    assert row["size"] == f"{position / 1000:.1f} kB"
    assert (row["where"], row["recording"]) == (str(served.archive), "0")


def test_settings_are_those_of_the_command_line_and_environment_of_the_driver(page):
    found = {
        name: awaited(page, "settings", lambda row, name=name: row["setting"] == name)
        for name in ("mtu_length", "term_buffer_length", "ipc_term_buffer_length")
    }

    assert {name: (row["value"], row["from"]) for name, row in found.items()} == {
        "mtu_length": ("4k", "-D"),
        "term_buffer_length": ("256k", "environment"),
        "ipc_term_buffer_length": ("64m", "default"),
    }
    assert found["term_buffer_length"]["environment variable"] == "AERON_TERM_BUFFER_LENGTH"


def test_lags_of_queries_are_those_that_a_listener_has_reported(page, served):
    served.lags.report(
        "trades",
        [StreamLag(3, 4096, 1.5, "aeron:ipc", 1001, 7), StreamLag(4, 0, 0.0, "aeron:ipc", 1002, 8)],
    )
    first = awaited(page, "queries", lambda row: row["stream"] == "1001")
    second = awaited(page, "queries", lambda row: row["stream"] == "1002")

    assert (first["query"], first["unread"], first["age"]) == ("trades", "4.1 kB", "1.5 s")
    assert (first["session"], first["recording"], first["channel"]) == ("7", "3", "aeron:ipc")
    assert (second["unread"], second["age"]) == ("0 bytes", "0.0 s")
    served.lags.report("trades", [StreamLag(3, 2_000_000, 60.0, "aeron:ipc", 1001, 7)])
    awaited(page, "queries", lambda row: (row["unread"], row["age"]) == ("2.0 MB", "60.0 s"))


@pytest.fixture(params=["light", "dark"])
def form(request, opened, served):
    """The form for the token, in one of the themes."""
    return opened(served.url, color_scheme=request.param)


def refused(page):
    expect(page.locator("input")).to_be_focused()
    page.keyboard.type("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("This is not the token.")


def test_the_form_for_the_token_is_used_by_keys_alone(form):
    refused(form)
    reached = []
    for _ in range(2):
        reached.append(
            form.evaluate(
                "[document.activeElement.tagName, getComputedStyle(document.activeElement).outlineStyle]"
            )
        )
        form.keyboard.press("Tab")
    form.get_by_label("Token").focus()
    form.keyboard.type(TOKEN)
    form.keyboard.press("Tab")
    form.keyboard.press("Space")

    expect(part(form, "drivers").locator("tbody tr")).to_have_count(1)
    assert [name for name, _ in reached] == ["INPUT", "BUTTON"]
    assert "none" not in {outline for _, outline in reached}


def test_the_form_for_the_token_has_enough_contrast_and_fits_its_window(form):
    refused(form)

    found = form.evaluate(CONTRASTS)

    assert {"aeron-core dashboard", "Token", "Log in", "This is not the token."} <= {
        text for _, text, _ in found
    }
    assert [each for each in found if each[2] < (4.5 if each[0] == "text" else 3)] == []
    for size in (WIDE, NARROW, TINY):
        form.set_viewport_size(size)
        assert form.evaluate("document.documentElement.scrollWidth <= innerWidth"), size


@pytest.fixture(scope="module")
def history(started, opened, tmp_path_factory):
    """The page of a stream that moves by 64,000 bytes a second for three seconds, and then stands still."""
    path = tmp_path_factory.mktemp("history") / "counters.arrows"
    with CounterHistoryWriter(path) as writer:
        for second in range(6):
            position = 64_000 * min(second, 3)
            records = records_of(
                "aeron:ipc", pub_pos=position, pub_lmt=position + 1_000_000, ipc_sub=position
            )
            writer.write(snapshot(*records, at_s=second))
    return opened(started("dashboard at (.*)", "dashboard", path, "--listen", "127.0.0.1:0")[1])


@pytest.mark.parametrize(
    ("key", "number", "rate", "position"),
    [("Home", 1, "-", "0"), ("ArrowRight", 2, "64.0 kB/s", "64,000"), ("End", 6, "0 bytes/s", "192,000")],
)
def test_rates_are_the_differences_of_positions_by_time(history, key, number, rate, position):
    history.get_by_role("slider").focus()
    history.keyboard.press("Home")
    history.keyboard.press(key)
    expect(part(history, "player")).to_contain_text(f"snapshot {number} of 6")

    row = awaited(history, "streams", lambda row: row["publisher"] == position)

    assert (row["rate"], row["subscriber"]) == (rate, position)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_history_has_enough_contrast_and_fits_its_window(history, theme):
    history.emulate_media(color_scheme=theme)
    expect(part(history, "streams").locator("tbody tr")).to_have_count(1)

    found = history.evaluate(CONTRASTS)

    assert len(found) > 40
    assert [each for each in found if each[2] < (4.5 if each[0] == "text" else 3)] == []
    for size in (NARROW, WIDE):
        history.set_viewport_size(size)
        assert history.evaluate("document.documentElement.scrollWidth <= innerWidth"), size
