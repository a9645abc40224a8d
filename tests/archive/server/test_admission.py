"""Limits on clients: strangers, sessions, requests in a second, and images that are recorded."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from served_archives import IPC, TERM, TIMEOUT_S, await_true, connect, recording_of, send

from aeron_core.archive import SourceLocation
from aeron_core.archive.server.admission import (
    MAX_NAMES,
    MAX_RESPONSE_CHANNELS,
    MAX_STRANGERS,
    MAX_STRANGERS_IN_SECOND,
    MAX_STRANGERS_OF_HOST_IN_SECOND,
    Admission,
    host_of,
)
from aeron_core.archive.server.authentication import Admitted, Challenged, Rejected, shared_secret
from aeron_core.archive.server.params import ArchiveServerParams
from aeron_core.archive.server.served_session import ServedSession, SessionState
from aeron_core.concurrent.counter_types import ARCHIVE_LIMITS
from aeron_core.errors import (
    ArchiveAuthenticationError,
    ArchiveErrorCode,
    ArchiveRefusedError,
    ConfigurationError,
)
from aeron_core.protocol.archive.codes import PROTOCOL_VERSION
from aeron_core.protocol.archive.requests import ArchiveIdRequest, AuthConnectRequest
from aeron_core.uri.channel_uri import ChannelUri

CHANNEL = "aeron:udp?endpoint=192.0.2.1:4000"
RESPONSES = "aeron:udp?control-mode=response|control=127.0.0.1"


@dataclass
class Image:
    source_identity: str
    session_id: int = 1


class Count:
    value = 0

    def increment(self) -> None:
        self.value += 1


class Limits:
    def __init__(self) -> None:
        self.clients, self.waits = Count(), Count()


@dataclass
class Archive:
    """What the limits use of an archive."""

    params: ArchiveServerParams
    limits: Limits = field(default_factory=Limits)
    sessions: dict[int, ServedSession] = field(default_factory=dict)
    now_ms: int = 0


class World:
    """The limits of an archive, and its sessions."""

    def __init__(self, **options) -> None:
        self.archive = Archive(ArchiveServerParams(**options))
        self.admission = Admission(self.archive)

    def connect(self, host: str, decision=None, channel: str = CHANNEL) -> ServedSession:
        image, uri = Image(f"{host}:5000"), ChannelUri.parse(channel)
        decision = decision or Rejected()
        self.admission.check(image, uri, decision)
        session = ServedSession(len(self.archive.sessions), 1, image, (uri, 20), decision)
        self.archive.sessions[session.session_id] = session
        return session

    def open(self, host: str = "") -> list[ServedSession]:
        """Return the sessions that have not ended."""
        found = [each for each in self.archive.sessions.values() if each.state is not SessionState.DONE]
        return [each for each in found if host_of(each.image) == host] if host else found


@pytest.fixture
def world():
    return World(max_sessions=3, max_requests=10)


def test_few_strangers_of_one_host_begin_in_a_second(world):
    for _ in range(MAX_STRANGERS_OF_HOST_IN_SECOND):
        world.connect("a")

    with pytest.raises(
        ArchiveRefusedError, match="client at a: too many clients without accepted credentials"
    ):
        world.connect("a")
    world.connect("b")
    world.archive.now_ms = 1000
    world.connect("a")


def test_few_strangers_of_all_hosts_begin_in_a_second(world):
    for index in range(MAX_STRANGERS_IN_SECOND):
        world.connect(f"host-{index}")

    with pytest.raises(ArchiveRefusedError, match="too many clients"):
        world.connect("another")


def test_the_host_with_the_most_strangers_loses_its_oldest_session(world):
    other = world.connect("other")
    for second in range(10):
        world.archive.now_ms = second * 1000
        for _ in range(MAX_STRANGERS_OF_HOST_IN_SECOND):
            world.connect("many", Challenged(b"", lambda answer: Rejected()))

    assert len(world.open()) == MAX_STRANGERS
    assert world.archive.limits.clients.value == len(world.archive.sessions) - MAX_STRANGERS
    assert other.state is SessionState.INIT
    assert world.open("many")[-1] is list(world.archive.sessions.values())[-1]


def test_few_strangers_have_names_in_their_channels(world):
    for index in range(MAX_NAMES):
        world.connect(f"host-{index}", channel="aeron:udp?endpoint=name.invalid:4000")

    with pytest.raises(ArchiveRefusedError, match="have names in their channels"):
        world.connect("another", channel="aeron:udp?endpoint=name.invalid:4000")
    world.connect("another")


@pytest.mark.parametrize(
    "channel",
    [
        "aeron:udp?endpoint=224.0.1.1:4000",
        "aeron:udp?endpoint=[ff02::1]:4000",
        "aeron:udp?endpoint=nonsense",
        "aeron:udp?control-mode=response|control=127.0.0.1:1023",
        "aeron:udp?control-mode=response|control=224.0.1.1:4000",
        "aeron:udp?control-mode=response|control=127.0.0.1:4000|endpoint=192.0.2.1:4000",
        "aeron:udp?control-mode=response",
    ],
)
def test_a_stranger_causes_no_multicast_and_binds_no_privileged_port(world, channel):
    with pytest.raises(ArchiveRefusedError):
        world.connect("a", channel=channel)


def test_few_strangers_have_response_channels_which_bind_ports(world):
    made = [
        world.connect(f"host-{index}", channel=f"{RESPONSES}:{4000 + index}")
        for index in range(MAX_RESPONSE_CHANNELS)
    ]

    with pytest.raises(
        ArchiveRefusedError, match=r"client at another: too many clients .* have response channels"
    ):
        world.connect("another", channel=f"{RESPONSES}:5000")
    world.connect("another")
    made[0].end("it has connected")
    # Its port is bound for a second more.
    with pytest.raises(ArchiveRefusedError, match="have response channels"):
        world.connect("another", channel=f"{RESPONSES}:5000")
    world.archive.now_ms = 1000
    world.connect("another", channel=f"{RESPONSES}:5000")


class Unreachable:
    """A client of a driver whose publications find no subscription; also such a publication."""

    is_connected = False

    def __init__(self) -> None:
        self.channels: list[str] = []

    def add_exclusive_publication_async(self, channel: str, stream_id: int) -> Unreachable:
        self.channels.append(channel)
        return self

    def poll(self) -> Unreachable:
        return self


@pytest.mark.parametrize(
    ("host", "channel", "time_ms"),
    [
        ("192.0.2.1", CHANNEL, 1000),
        ("192.0.2.2", CHANNEL, 300),
        ("127.0.0.1", "aeron:udp?endpoint=localhost:4000", 1000),
        ("192.0.2.2", "aeron:udp?endpoint=localhost:4000", 300),
        ("[2001:db8::1]", "aeron:udp?endpoint=[2001:db8:0::1]:4000", 1000),
        ("[2001:db8::2]", "aeron:udp?endpoint=[2001:db8::1]:4000", 300),
        ("192.0.2.1", "aeron:udp?endpoint=name:4000", 300),
        ("192.0.2.1", f"{RESPONSES}:4000", 1000),
    ],
)
def test_a_stranger_at_another_address_than_its_requests_has_less_time(world, host, channel, time_ms):
    aeron, params = Unreachable(), world.archive.params
    session = world.connect(host, channel=channel)

    session.do_work(aeron, params, 5000)
    session.do_work(aeron, params, 5000 + time_ms)
    assert session.state is SessionState.CONNECTING
    session.do_work(aeron, params, 5001 + time_ms)

    assert session.state is SessionState.DONE
    assert ("linger=1s" in aeron.channels[0]) == ("response" in channel)


def test_a_name_of_a_response_channel_is_one_of_the_few_names(world):
    for index in range(MAX_NAMES):
        world.connect(f"host-{index}", channel="aeron:udp?endpoint=name.invalid:4000")

    with pytest.raises(ArchiveRefusedError, match="have names in their channels"):
        world.connect("another", channel="aeron:udp?control-mode=response|control=name.invalid:4000")


def test_strangers_take_no_place_of_admitted_clients(world):
    for index in range(MAX_STRANGERS):
        world.connect(f"host-{index}")
    admitted = [world.connect("a", Admitted()) for _ in range(3)]
    for each in admitted:
        each.state = SessionState.ACTIVE

    with pytest.raises(ArchiveRefusedError, match="3 sessions are open, the most"):
        world.connect("a", Admitted())
    world.archive.now_ms = 1000
    for index in range(MAX_STRANGERS):
        world.connect(f"host-{index}")
    assert all(each.state is SessionState.ACTIVE for each in admitted)


def test_an_admitted_client_takes_the_place_of_one_that_is_not_in_use(world):
    first, second, third = (world.connect(host, Admitted()) for host in ("a", "b", "b"))

    world.connect("c", Admitted())

    assert [each.state for each in (first, second, third)] == [
        SessionState.INIT, SessionState.DONE, SessionState.INIT
    ]  # fmt: skip


def test_requests_of_a_host_in_a_second_are_counted_for_all_its_clients(world):
    first, second, other = Image("a:1"), Image("a:2", 2), Image("b:1")
    world.admission.take(first, 7)

    assert [world.admission.left(each) for each in (first, second, other)] == [3, 3, 10]
    world.archive.now_ms = 1000
    assert world.admission.left(first) == 10
    assert host_of(Image("aeron:ipc", 1)) != host_of(Image("aeron:ipc", 2))


@pytest.mark.parametrize("name", ["max_sessions", "max_requests", "max_recordings", "max_replays"])
def test_a_limit_of_nothing_is_refused(name):
    with pytest.raises(ConfigurationError, match=f"{name}=0: must be at least 1"):
        ArchiveServerParams(**{name: 0})


def test_a_client_is_admitted_while_a_stranger_connects_again_and_again(serve, aeron):
    served = serve(authenticator=shared_secret(b"secret"))
    stranger = aeron.add_exclusive_publication(IPC, 10)
    stranger.await_connected(TIMEOUT_S)
    for index in range(600):
        request = AuthConnectRequest(index, 20, PROTOCOL_VERSION, CHANNEL_OF_STRANGER, b"wrong", "")
        stranger.send(request.encode(), timeout=TIMEOUT_S)

    with connect(aeron, credentials=b"secret") as archive:
        assert archive.list_recordings() == []
        assert len(served.server._archive.sessions) <= MAX_STRANGERS + 1


CHANNEL_OF_STRANGER = "aeron:ipc?alias=stranger"


def test_requests_beyond_the_limit_wait_and_those_of_others_do_not(serve, aeron):
    served = serve(max_requests=50)
    busy, other = connect(aeron), connect(aeron)
    for index in range(200):
        busy._session._publication.send(
            ArchiveIdRequest(busy.control_session_id, index).encode(), timeout=TIMEOUT_S
        )

    assert other.list_recordings() == []
    assert busy.list_recordings() == []
    assert served.errors == []
    assert limits(aeron)["seconds in which a host had too many requests"] > 0


def limits(aeron):
    """Return the values of the counters of limits by their names."""
    found = (counter for counter in aeron.counters_reader if counter.type_id == ARCHIVE_LIMITS)
    return {
        counter.label.removeprefix("archive-limits: ").partition(",")[0]: counter.value for counter in found
    }


def test_refused_clients_and_requests_are_counted(serve, aeron):
    served = serve("first", archive_id=5, authenticator=shared_secret(b"secret"))
    for _ in range(2):
        with pytest.raises(ArchiveAuthenticationError):
            connect(aeron, credentials=b"wrong")
    with connect(aeron, credentials=b"secret") as archive, pytest.raises(ArchiveRefusedError):
        archive.replay(77, IPC, 900)

    found = limits(aeron)

    assert (found["refused clients"], found["refused requests"]) == (2, 1)
    served.stop()
    await_true(lambda: limits(aeron) == {}, "the counters to be freed")


def test_images_beyond_the_limit_are_not_recorded_and_leave_no_entry(serve, aeron, free_port):
    served = serve(max_recordings=2)
    errors = []
    archive = connect(aeron, on_error=errors.append)
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    archive.start_recording(channel, 100, SourceLocation.REMOTE)
    publications = [
        aeron.add_exclusive_publication(f"{channel}|term-length=64k|session-id={session}", 100)
        for session in range(5)
    ]
    for each in publications:
        each.await_connected(TIMEOUT_S)
        send(each, 3)

    await_true(lambda: archive.poll_for_recording_signals() >= 0 and errors, "the error")
    await_true(lambda: len(archive.list_recordings()) == 2, "the recordings")
    assert [each.code for each in errors] == [ArchiveErrorCode.MAX_RECORDINGS]
    assert "an image is not recorded, perhaps further ones: 2 recordings are active, the most" in str(
        errors[0]
    )
    assert len(served.errors) == 1
    assert len(list(served.folder.glob("*.rec"))) == 2


def test_a_stream_that_stops_with_its_recording_ends_if_its_image_is_not_recorded(serve, aeron):
    served = serve(max_recordings=2)
    errors = []
    archive = connect(aeron, on_error=errors.append)
    publications = [aeron.add_exclusive_publication(TERM, 100) for _ in range(2)]
    archive.start_recording(IPC, 100)
    await_true(lambda: len(archive.list_recordings()) == 2, "the recordings")
    archive.start_recording(IPC, 101, auto_stop=True)

    publications.append(aeron.add_exclusive_publication(TERM, 101))

    await_true(lambda: archive.poll_for_recording_signals() >= 0 and errors, "the error")
    await_true(lambda: len(served.server._archive.streams) == 1, "the end of the stream")
    assert errors[0].code is ArchiveErrorCode.MAX_RECORDINGS


def test_images_are_refused_again_and_reported_again_after_one_was_recorded(serve, aeron):
    served = serve(max_recordings=1)
    archive = connect(aeron, on_error=lambda _: None)
    archive.start_recording(IPC, 100)
    for count in (1, 2):
        first, second = (aeron.add_exclusive_publication(TERM, 100) for _ in range(2))
        await_true(lambda count=count: len(served.errors) == count, "the refusal")
        for each in (first, second):
            each.close()
        await_true(lambda: not served.server._archive.recordings, "the end of the recording")

    assert len(archive.list_recordings()) == 2
    assert len(served.errors) == 2


def test_a_stopped_recording_makes_a_place(serve, aeron):
    serve(max_recordings=1)
    archive = connect(aeron)
    for stream_id in (100, 101):
        publication = archive.add_recorded_exclusive_publication(TERM, stream_id)
        send(publication, 3)
        recording_of(archive, publication)
        assert archive.stop_recorded_publication(publication)
        publication.close()

    assert len(archive.list_recordings()) == 2
