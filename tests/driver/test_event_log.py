"""The event log of a driver."""

import io
import re
import sys
import threading
import warnings

import pytest

from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.spi.hookspecs import hookimpl
from aeron_core.testing import SimulatedLink, SimulatedPeer, encode_frame
from aeron_core.testing.pair import MS, S, Simulation

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
LINE = re.compile(r"\[\d+\.\d{9}\] DRIVER: ([A-Z_]+): (.*)")
# Source: aeron_driver_agent.c, aeron_driver_agent_dissect_log_start.
FIRST_LINE = re.compile(
    r"\[\d+\.\d{9}\] log started \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}[+-]\d{4}, "
    r"enabled loggers: \{DRIVER: version=\S+ commit=\S+\}"
)


def events_of(lines):
    """Return the events with their details."""
    return [LINE.fullmatch(line).groups() for line in lines if not FIRST_LINE.fullmatch(line)]


class Logged:
    """A pair of drivers that log into one file."""

    def __init__(self, start_pair, path, events, **settings):
        self.path = path / "events.log"
        self.pair = start_pair(event_log=events, event_log_filename=self.path, **settings)

    def lines(self):
        """Close both drivers and return the events with their details."""
        for driver in self.pair.drivers:
            driver.close()
        self.pair.drivers.clear()
        # The lines of each driver are in order, those of both together need not be.
        lines = sorted(self.path.read_text().splitlines(), key=lambda line: line.partition("]")[0])
        return events_of(lines)


@pytest.fixture
def log(start_pair, tmp_path):
    return lambda events, **settings: Logged(start_pair, tmp_path, events, **settings)


def stream(pair):
    subscription = pair.add_subscription(CHANNEL, 1001)
    publication = pair.add_publication(CHANNEL, 1001)
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)
    return publication, subscription


def test_of_a_termination_token_only_the_length_is_logged(log):
    logged = log("admin")
    logged.pair.receiver.clients[0].terminate_driver(b"open sesame")
    logged.pair.run_for(1 * S)

    (text,) = [text for event, text in logged.lines() if event == "CMD_IN_TERMINATE_DRIVER"]
    assert text.endswith("token_length=11")
    assert "sesame" not in text


def test_commands_and_answers_are_logged(log):
    logged = log("0x3")
    publication, subscription = stream(logged.pair)
    publication.close()
    # Order the lines of two drivers by time.
    logged.pair.run_for(1 * S)
    subscription.close()
    logged.pair.run_for(1 * S)

    lines = logged.lines()

    # The heartbeat of a client is a counter, which is allocated with its first command.
    events = [event for event, _ in lines if not event.endswith(("KEEPALIVE_CLIENT", "COUNTER_READY"))]
    assert events[:8] == [
        "CMD_IN_ADD_SUBSCRIPTION",
        "CMD_OUT_SUBSCRIPTION_READY",
        "CMD_IN_ADD_PUBLICATION",
        "CMD_OUT_PUBLICATION_READY",
        "CMD_OUT_AVAILABLE_IMAGE",
        "CMD_IN_REMOVE_PUBLICATION",
        "CMD_OUT_ON_OPERATION_SUCCESS",
        "CMD_IN_REMOVE_SUBSCRIPTION",
    ]
    assert f"stream_id=1001 channel={CHANNEL}" in dict(lines)["CMD_IN_ADD_PUBLICATION"]


def test_a_refusal_is_logged_with_its_text(log):
    logged = log("CMD_OUT_ERROR")
    registration = logged.pair.publisher.add_publication_async("aeron:udp?mtu=9", 1001)
    logged.pair.run_until(lambda: registration.is_done)

    ((event, text),) = logged.lines()

    assert event == "CMD_OUT_ERROR"
    assert "aeron:udp?mtu=9" in text


def test_lifecycles_of_channels_and_streams_are_logged(log):
    logged = log("admin")
    publication, subscription = stream(logged.pair)
    publication.close()
    subscription.close()
    logged.pair.run_for(30 * S)

    events = [event for event, _ in logged.lines() if not event.startswith("CMD_")]

    assert sorted(events) == [
        "RECEIVE_CHANNEL_CLOSE",
        "RECEIVE_CHANNEL_CREATION",
        "REMOVE_IMAGE_CLEANUP",
        "REMOVE_PUBLICATION_CLEANUP",
        "REMOVE_SUBSCRIPTION_CLEANUP",
        "SEND_CHANNEL_CLOSE",
        "SEND_CHANNEL_CREATION",
    ]


def test_frames_are_logged_with_their_fields(log):
    logged = log("FRAME_IN,FRAME_OUT")
    publication, _ = stream(logged.pair)

    lines = logged.lines()

    sent = [text for event, text in lines if event == "FRAME_OUT" and " SETUP " in text]
    assert sent[0].startswith("address=10.0.0.2:20121 SETUP ")
    assert f"session_id={publication.session_id} stream_id=1001" in sent[0]
    assert any(event == "FRAME_IN" and " SM " in text for event, text in lines)


def test_naks_are_logged_by_receiver_and_sender(log):
    logged = log("NAK_SENT,NAK_RECEIVED")
    publication, _ = stream(logged.pair)
    logged.pair.network.set_link(SimulatedLink(loss=1), destination=logged.pair.RECEIVER)
    publication.offer(b"lost")
    logged.pair.run_for(1 * MS)
    logged.pair.network.set_link(SimulatedLink(), destination=logged.pair.RECEIVER)
    publication.offer(b"after")
    logged.pair.run_for(50 * MS)

    lines = logged.lines()

    assert {event for event, _ in lines} == {"NAK_SENT", "NAK_RECEIVED"}
    assert all("term_offset=0 length=64" in text for _, text in lines)


def test_a_stream_arrives_while_its_frames_are_logged(log):
    logged = log("all")
    publication, subscription = stream(logged.pair)
    received = []

    for number in range(50):
        logged.pair.run_until(lambda: publication.offer(b"%d" % number) > 0)  # noqa: B023 - runs now
    logged.pair.run_until(
        lambda: (
            subscription.poll(lambda buffer, header: received.append(bytes(buffer)), 10)
            and len(received) == 50
        )
    )

    assert received == [b"%d" % number for number in range(50)]
    assert {"FRAME_IN", "FRAME_OUT"} <= {event for event, _ in logged.lines()}


def test_an_untethered_subscriber_that_falls_behind_is_logged(log):
    logged = log("UNTETHERED_SUBSCRIPTION_STATE_CHANGE")
    pair = logged.pair
    client = pair.subscriber
    quick = pair.result(client.add_subscription_async("aeron:ipc", 7))
    pair.result(client.add_subscription_async("aeron:ipc?tether=false", 7))
    publication = pair.result(client.add_publication_async("aeron:ipc", 7))
    pair.run_until(lambda: publication.is_connected)

    pair.run_for(12 * S, each=lambda: (publication.offer(bytes(1000)), quick.poll(lambda *_: None, 100)))

    assert "ACTIVE->LINGER" in logged.lines()[0][1]


def test_the_session_of_a_stream_with_an_error_is_logged(log):
    logged = log("GENERIC_MESSAGE", driver_connect=False)
    channel = f"{CHANNEL}|session-id=77|init-term-id=0|term-id=0|term-offset=0"
    publication = logged.pair.add_exclusive_publication(channel, 1001)
    peer = SimulatedPeer(logged.pair.network, "10.0.0.9", 40000, (logged.pair.SENDER, 49152))
    ids = {"session_id": 77, "stream_id": 1001}
    for first in range(0, 4200, 300):
        messages = [StatusMessage(receiver_id=first + n, receiver_window=1024, **ids) for n in range(300)]
        peer.send(*map(encode_frame, messages))
        logged.pair.run_for(10 * MS)

    ((event, text),) = logged.lines()
    assert event == "GENERIC_MESSAGE"
    assert (
        f"registration_id={publication.registration_id} session_id=77 stream_id=1001 message=more than 4096"
        in text
    )


def test_name_resolution_is_logged(memory_path, tmp_path):
    class Plugin:
        def lookup(self, name, uri_key, is_re_lookup):
            return name

        def resolve(self, host, uri_key, is_re_resolution):
            return "10.0.0.2"

        @hookimpl
        def aeron_name_resolvers(self):
            return {"names": lambda params: self}

    path = tmp_path / "events.log"
    with Simulation(memory_path, plugins=[Plugin()]) as simulation:
        driver = simulation.add_driver(
            "10.0.0.1", name_resolver="names", event_log="50,52", event_log_filename=path
        )
        simulation.result(driver.connect().add_publication_async("aeron:udp?endpoint=node:1", 1))

    events = events_of(path.read_text().splitlines())
    assert events == [
        ("NAME_RESOLUTION_LOOKUP", "name=node:1 is_re_lookup=False found=node:1"),
        ("NAME_RESOLUTION_RESOLVE", "name=node is_re_resolution=False address=10.0.0.2"),
    ]


def test_a_new_file_follows_a_file_of_the_maximum_length(start_driver, tmp_path):
    # One driver: two must not share a file that is rotated.
    path = tmp_path / "events.log"
    lone = start_driver(event_log="all", event_log_filename=path, event_log_file_max_length=500)
    for stream_id in range(10):
        lone.add_subscription("aeron:ipc", stream_id)
    lone.driver.close()
    lone.drivers.clear()

    files = sorted(tmp_path.glob("events.log*"))

    assert len(files) > 2
    assert {file.name.rstrip("0123456789") for file in files} == {"events.log", "events.log."}
    assert all(FIRST_LINE.match(file.read_text().splitlines()[0]) for file in files)
    assert all(line.startswith("[") for file in files for line in file.read_text().splitlines())


def test_a_log_begins_with_the_line_of_the_reference_before_any_event(start_driver, tmp_path):
    path = tmp_path / "events.log"

    driver = start_driver(event_log="admin", event_log_filename=path).driver
    driver.close()

    assert FIRST_LINE.fullmatch(path.read_text().splitlines()[0])


def test_a_driver_without_enabled_events_has_no_log_thread(start_driver):
    start_driver()

    assert "aeron-event-log" not in {thread.name for thread in threading.enumerate()}


def test_an_unknown_event_causes_a_warning_at_the_start(start_driver):
    with pytest.warns(UserWarning, match="no event 'GONE'"):
        start_driver(event_log="GONE")


def test_without_a_file_events_go_to_standard_output(start_driver, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        driver = start_driver(event_log="CMD_IN_ADD_COUNTER")
    driver.result(driver.client.add_counter_async(77, b"", "a"))
    driver.close()

    assert "DRIVER: CMD_IN_ADD_COUNTER: client_id=" in capsys.readouterr().out


@pytest.mark.parametrize("is_missing", [False, True])
@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_closed_standard_output_is_reported_and_the_driver_continues(start_driver, monkeypatch, is_missing):
    output = io.StringIO()
    output.close()
    lone = start_driver(event_log="all")
    # Python has no stream for a descriptor that was closed when the process started.
    monkeypatch.setattr(sys, "stdout", None if is_missing else output)

    lone.add_subscription("aeron:ipc", 1)
    lone.driver.close()

    (record,) = lone.driver.errors()
    lone.drivers.clear()
    assert "event log on standard output has ended" in record.text


class BrokenOutput:
    """Standard output of a program that has replaced it; not all of such objects raise OSError."""

    closed = False

    def write(self, text):
        raise ValueError("detached")


@pytest.mark.parametrize("output", [BrokenOutput(), object()])
@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_broken_standard_output_is_reported_and_the_waiting_lines_are_dropped(
    start_driver, monkeypatch, output
):
    lone = start_driver(event_log="all")
    monkeypatch.setattr(sys, "stdout", output)

    lone.add_subscription("aeron:ipc", 1)
    event_log = lone.driver.media_driver._assembly.context.events
    lone.driver.close()

    (record,) = lone.driver.errors()
    lone.drivers.clear()
    assert "event log on standard output has ended" in record.text
    assert event_log._lines.empty()


def test_letters_beyond_the_encoding_of_standard_output_are_escaped(start_driver, monkeypatch):
    written = io.BytesIO()
    lone = start_driver(event_log="CMD_IN_ADD_SUBSCRIPTION,CMD_IN_ADD_COUNTER")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "ascii", write_through=True))

    lone.result(lone.client.add_counter_async(77, b"", "Zähler"))
    lone.driver.close()
    lone.drivers.clear()

    assert b"Z\\xe4hler" in written.getvalue()


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_full_disk_is_reported_once_and_the_driver_continues_and_closes(start_driver):
    lone = start_driver(event_log="all", event_log_filename="/dev/full")

    lone.add_subscription("aeron:ipc", 1)
    publication = lone.add_publication("aeron:ipc", 1)
    lone.run_until(lambda: publication.is_connected)
    lone.driver.close()

    (record,) = lone.driver.errors()
    lone.drivers.clear()
    assert "event log /dev/full" in record.text
    assert "No space left on device" in record.text
