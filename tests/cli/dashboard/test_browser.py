"""The dashboard in Chromium, with real streams behind it.

AERON_CORE_SCREENSHOTS=docs/images writes the pictures of the documentation.
"""

import os
import re
import socket
import time
from pathlib import Path

import pytest
from pages import CONTRASTS, part, row_of, rows
from raw_connections import is_ended_by_peer, refused

pytest.importorskip("playwright")
pytest.importorskip("nicegui")

from nicegui import Client
from playwright.sync_api import expect

from aeron_core.cli.dashboard import server as dashboard_server
from aeron_core.cli.dashboard.remote import RemoteSource
from aeron_core.cli.dashboard.server import MAX_CONNECTIONS

pytestmark = pytest.mark.system
# Milliseconds, far above the slowest update on a loaded machine.
expect.set_options(timeout=60_000)

WIDE, NARROW = {"width": 1200, "height": 830}, {"width": 390, "height": 844}
#: Rows of the streams of `served`.
ROWS = 7
THEMES = ["light", "dark"]
#: Everything that a key can be meant for.
CONTROLS = "button, input, a[href], [tabindex='0']"


@pytest.fixture(scope="module")
def visited():
    """URLs that the browser has asked for."""
    return []


@pytest.fixture(scope="module")
def page(browser, served, visited):
    """The page, once it shows streams; errors of its scripts fail the test."""
    shown = browser.new_page(viewport=WIDE)
    errors = []
    shown.on("request", lambda request: visited.append(request.url))
    shown.on("websocket", lambda socket: visited.append(socket.url))
    shown.on("pageerror", lambda error: errors.append(str(error)))
    shown.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    shown.goto(served.url)
    expect(part(shown, "streams").locator("tbody tr")).to_have_count(ROWS)
    yield shown
    assert errors == []
    shown.close()


@pytest.fixture(autouse=True)
def as_at_first(page):
    """Restore what a test may have changed."""
    yield
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="light")


def test_what_is_on_the_page_equals_the_counters(page, served):
    (stream,) = [each for each in served.snapshot.streams if each.stream_id == 1001]
    (sent,), (image,) = stream.publications.values(), stream.images.values()

    network, received = row_of(page, 1001, "network"), row_of(page, 1001, "image")

    assert sent.position > 0
    assert network["publisher"] == f"{sent.position:,}"
    assert network["sender"] == f"{sent.sender_position:,}"
    assert received["receiver"] == f"{image.position:,}"
    assert received["subscriber"] == f"{image.slowest.position:,}" == "0"
    assert network["session"] == str(stream.session_id)
    assert network["channel"] == sent.channel
    driver, _ = rows(page, "drivers")
    assert (driver["directory"], driver["process"]) == (str(served.aeron_dir), str(os.getpid()))


def test_another_dashboard_gets_the_same_drivers(page, served):
    source = RemoteSource(served.url)

    source.read()

    assert source.problem == ""
    assert [driver.state.aeron_dir.name for driver in source.drivers] == ["aeron-prices", "aeron-orders"]
    first = source.drivers[0].snapshot
    assert [each.stream_id for each in first.streams] == [12, 13, 20, 21, 1001]
    assert served.error in next(error.text for error in first.errors)


def test_the_page_follows_the_counters(page, served):
    before = row_of(page, 13, "ipc")["publisher"]

    position = served.publications[13].offer(bytes(2000))

    cell = part(page, "streams").get_by_text(f"{position:,}", exact=True)
    expect(cell).to_be_visible()
    assert before != f"{position:,}"


def test_the_culprit_of_a_slow_subscriber_is_named(page):
    culprit = f"process {os.getpid()} (report)"

    expect(part(page, "limits").locator(".ac-alert").first).to_contain_text(culprit)
    expect(part(page, "limits").locator(".ac-alert").first).to_contain_text("holds stream 12 back")
    assert culprit in row_of(page, 12, "ipc")["limited by"]
    # At times, a subscriber of a stream that moves is a culprit, too.
    stopped = part(page, "map").locator("ul").nth(4).locator(".ac-stopped")
    expect(stopped).to_have_count(1)
    expect(stopped).to_contain_text(culprit)
    assert part(page, "map").locator(".ac-flow.ac-stopped").count() >= 1


def test_texts_of_peers_do_not_become_html(page, served):
    while served.publications[13].offer(bytes(1000)) > 0:
        pass

    expect(part(page, "limits")).to_contain_text(f"({served.client_name}) holds stream 13 back")
    assert row_of(page, 13, "ipc")["channel"] == served.channel
    assert served.client_name in row_of(page, 13, "ipc")["limited by"]
    assert served.error in rows(page, "errors")[0]["error"]
    assert served.client_name in part(page, "map").inner_text()
    assert page.evaluate("window.hacked") is None
    assert page.locator(".nicegui-content").locator("img, script, td b, li > b > *").count() == 0

    while served.subscriptions[13].poll(lambda *_: None, 100):
        pass
    expect(part(page, "limits")).not_to_contain_text("stream 13")


def test_nothing_comes_from_elsewhere(page, served, visited):
    origin = served.url.removeprefix("http")

    assert len(visited) > 5
    assert [url for url in visited if re.sub("^(http|ws)", "", url).startswith(origin) is False] == []


def test_a_table_is_sorted_and_filtered_by_keys(page, served):
    streams = part(page, "streams")
    header = streams.get_by_role("button", name="publisher")

    header.focus()
    page.keyboard.press("Enter")
    positions = [row["publisher"] for row in rows(page, "streams") if row["publisher"] != "-"]
    assert positions == sorted(positions, key=lambda text: -int(text.replace(",", "")))
    assert streams.locator("th[aria-sort=descending]").inner_text().startswith("publisher")
    page.keyboard.press("Enter")
    expect(streams.locator("th[aria-sort=ascending]")).to_have_count(1)

    streams.get_by_role("searchbox").focus()
    page.keyboard.type(f"{served.endpoints[0]} network")
    expect(streams.locator("tbody tr")).to_have_count(1)
    assert [row["stream"] for row in rows(page, "streams")] == ["1001"]
    page.keyboard.press("Escape")
    expect(streams.locator("tbody tr")).to_have_count(ROWS)


def test_a_stream_is_plotted_alone_when_it_is_chosen(page):
    chosen = part(page, "streams").locator("button[aria-pressed=true]")
    page.get_by_role("button", name="12", exact=True).press("Enter")

    expect(part(page, "about")).to_contain_text("stream 12, session")
    expect(chosen).to_have_text("12")
    page.get_by_role("button", name="show all streams").press("Enter")
    expect(part(page, "about")).to_have_text("all streams")
    expect(chosen).to_have_count(0)
    assert part(page, "about").inner_text() == "all streams"


def test_arrow_keys_show_the_values_of_a_plot_at_a_time(page):
    plot = part(page, "plot Lag")
    plot.locator("svg").first.focus()

    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")

    expect(plot.locator("figcaption span")).to_have_text(re.compile("-1 s|now"))
    assert plot.locator(".ac-cursor").count() == 1
    expect(plot.locator(".ac-legend")).to_contain_text("not read 3")


def test_every_control_is_reached_by_tab_and_shows_that_it_has_the_focus(page):
    # Appears once there are enough measurements.
    expect(part(page, "plot Round trips, distribution")).to_be_visible()
    controls = page.locator(CONTROLS)
    controls.evaluate_all("found => found.forEach((each, number) => (each.dataset.number = number))")
    page.evaluate("document.activeElement.blur(); document.body.tabIndex = -1; document.body.focus()")
    reached = set()
    # What holds a stream back comes and goes, with its links.
    for _ in range(controls.count() + 20):
        page.keyboard.press("Tab")
        number, is_visible, is_end = page.evaluate(
            """() => {
              const found = document.activeElement;
              const style = getComputedStyle(found);
              return [found.dataset.number ?? null,
                style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2
                  && found.getBoundingClientRect().left >= 0,
                found === document.body];
            }"""
        )
        if is_end or number in reached - {None}:
            break
        assert is_visible, number
        reached.add(number)

    assert set(
        controls.evaluate_all("found => found.map(each => each.dataset.number ?? null)")
    ) <= reached | {None}
    assert len(reached) > 20


@pytest.mark.parametrize("theme", THEMES)
def test_text_and_lines_have_enough_contrast(page, theme):
    page.emulate_media(color_scheme=theme)

    found = page.evaluate(CONTRASTS)

    assert len([kind for kind, *_ in found if kind == "text"]) > 100
    assert [each for each in found if each[2] < (4.5 if each[0] == "text" else 3)] == []


def test_the_map_leads_from_a_driver_to_another_one(page, served):
    columns = [each.locator("b").all_inner_texts() for each in part(page, "map").locator("ul").all()]

    assert columns[1] == ["aeron-prices"]
    assert sorted(columns[2]) == sorted(f"udp {each}" for each in served.endpoints)
    assert sorted(columns[3]) == ["aeron-orders", "aeron-prices"]
    assert f"process {os.getpid()} (orders)" in columns[4]


def test_round_trips_are_plotted_where_they_are_measured(page):
    expect(part(page, "plot Round trip").locator(".ac-legend")).to_contain_text(re.compile("[nµm]?s"))
    bars = part(page, "plot Round trips, distribution").locator("rect")
    expect(bars.first).to_be_visible()
    assert bars.count() == 16


def test_the_theme_can_be_chosen(page):
    button = page.get_by_role("button", name="Theme:")
    colours = []
    for expected in ("light", "dark", "auto"):
        button.click()
        expect(button).to_have_text(f"Theme: {expected}")
        colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    assert colours[0] == colours[2] != colours[1]


def test_a_paused_page_stands_still(page, served):
    page.get_by_role("button", name="Pause").click()
    clock = page.locator("time")
    # An update may be under way.
    page.wait_for_timeout(1000)
    shown = clock.inner_text()
    page.wait_for_timeout(1200)

    assert clock.inner_text() == shown
    page.get_by_role("button", name="Continue").click()
    expect(clock).not_to_have_text(shown)


def test_a_browser_that_does_not_confirm_gets_no_more_updates(page):
    (client,) = [each for each in Client.instances.values() if each.has_socket_connection]
    debugger, paused = page.context.new_cdp_session(page), []
    # Playwright sets an attribute of its handlers, which a method of a list cannot have.
    debugger.on("Debugger.paused", lambda event: paused.append(event))  # noqa: PLW0108
    debugger.send("Debugger.enable")
    # The page stops when it begins to handle the next update.
    debugger.send("Debugger.pause")
    deadline_s = time.monotonic() + 60
    while not paused:
        assert time.monotonic() < deadline_s
        page.wait_for_timeout(10)

    # The page may have stopped in another handler: then it still gets one update, which it does not confirm.
    page.wait_for_timeout(2000)
    first = client.outbox.next_message_id
    page.wait_for_timeout(2000)
    second = client.outbox.next_message_id
    debugger.send("Debugger.resume")
    debugger.send("Debugger.disable")

    assert second == first
    assert len(client.outbox.messages) == 0
    shown = page.locator("time").inner_text()
    expect(page.locator("time")).not_to_have_text(shown)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("width", "size"), [("wide", WIDE), ("narrow", NARROW)])
def test_the_page_fits_its_window(page, theme, width, size, tmp_path):
    page.set_viewport_size(size)
    page.emulate_media(color_scheme=theme)
    pictures = os.environ.get("AERON_CORE_SCREENSHOTS")
    path = Path(pictures or tmp_path) / f"dashboard-{width}-{theme}.png"

    page.screenshot(path=path)

    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert path.stat().st_size > 10_000
    if pictures:
        assert path.stat().st_size < 150_000


def test_the_number_of_connections_is_bounded(page, served):
    address = ("127.0.0.1", int(served.url.rpartition(":")[2].strip("/")))

    assert refused(address, MAX_CONNECTIONS + 5) >= 5
    # That of the page is still open.
    shown = page.locator("time").inner_text()
    expect(page.locator("time")).not_to_have_text(shown)


@pytest.mark.parametrize("request_", [b"", b"GET / HTT", b"GET /favicon.ico HTTP/1.1\r\nHost: x\r\n\r\nGET"])
def test_a_connection_that_sends_no_request_is_closed(page, served, monkeypatch, request_):
    monkeypatch.setattr(dashboard_server, "REQUEST_LIMIT_S", 0.2)
    address = ("127.0.0.1", int(served.url.rpartition(":")[2].strip("/")))

    with socket.create_connection(address, timeout=30) as connection:
        connection.sendall(request_)
        assert is_ended_by_peer(connection)


@pytest.mark.parametrize("path", ["_nicegui/x", "_nicegui/3/static/x.js", "_nicegui/3/esm/x", "x"])
def test_a_path_that_does_not_exist_creates_no_session(page, served, path):
    before = len(Client.instances)

    assert page.context.request.get(f"{served.url}{path}").status == 404

    assert len(Client.instances) == before


def test_a_page_without_a_connection_does_not_seem_empty(browser, page, served):
    waiting = browser.new_page()
    # Playwright takes the place of the server, and sends nothing.
    waiting.route_web_socket(re.compile(".*"), lambda socket: None)
    waiting.goto(served.url)

    expect(part(waiting, "limits")).to_have_text("connecting …")
    assert "connecting" not in part(page, "limits").inner_text()
    waiting.unroute_all()
    waiting.close()
    for client in list(Client.instances.values()):
        if not client.has_socket_connection:
            client.delete()  # otherwise it is deleted when the time to connect is over


def test_a_closed_page_ends_its_session(browser, page, served):
    other = browser.new_page()
    other.goto(served.url)
    expect(part(other, "streams").locator("tbody tr")).to_have_count(ROWS)
    assert len(Client.instances) == 2

    other.close()

    deadline_s = time.monotonic() + 30
    while len(Client.instances) > 1:
        assert time.monotonic() < deadline_s
        page.wait_for_timeout(50)
