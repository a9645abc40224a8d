"""Messages between our and foreign endpoints arrive once, in order and unmodified, for both roles."""

from __future__ import annotations

import pytest
from sp_messages import body, checksum_of
from sp_peers import MEETINGS

pytestmark = pytest.mark.interop

LIBRARIES = ["pynng", "nng", "mangos"]
MEGABYTES = 16 << 20
#: Includes the boundaries of WebSocket length encodings and of nng's fragmentation.
LENGTHS = [1, 2, 121, 122, 125, 126, 1000, 65_531, 65_532, 65_536, 200_000, MEGABYTES]
#: Long enough for messages of 16 MiB.
LONG = "|max-message=16m|term-length=128m"
#: mangos sends hop count 0 for the first hop.
KEYS = {"mangos": "|accept-zero-hop=true"}


@pytest.mark.parametrize("role", ["listen", "dial"])
@pytest.mark.parametrize(("library", "transport"), MEETINGS)
@pytest.mark.compatible("SP PAIR1 over {transport}", "{library} ↔ our driver, which {role}s")
def test_messages_of_all_lengths_pass_in_both_directions(connected, library, transport, role):
    our, their = connected(library, transport, role, LONG + KEYS.get(library, ""))

    for length in LENGTHS:
        our.send(body(3, length))
        their.send(first=3, count=1, length=length)
        assert their.receive()["checksum"] == checksum_of(1, 3, length)
        assert our.checksum(1) == checksum_of(1, 3, length)
    their.send("")
    # pynng cannot receive empty messages.
    our.send("after it" if library == "pynng" else "")
    assert our.texts() == [""]
    assert their.texts() == ["after it" if library == "pynng" else ""]

    assert our.errors() == []


@pytest.mark.parametrize("role", ["listen", "dial"])
@pytest.mark.parametrize("transport", ["tcp", "ipc"])
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.compatible("SP PAIR1 over {transport}", "{library} ↔ our driver, which {role}s")
def test_ten_thousand_messages_pass_in_both_directions_at_once(connected, library, transport, role):
    count = 10_000
    our, their = connected(library, transport, role, KEYS.get(library, ""))

    their.command("receive", count=count, timeout=30)
    their.command("send", first=70, count=count)
    for index in range(count):
        our.send(body(index))

    assert our.checksum(count) == checksum_of(count, 70)
    assert their.await_event("received")["checksum"] == checksum_of(count)
    assert our.errors() == []


@pytest.mark.parametrize("role", ["listen", "dial"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_the_hop_count_of_a_message_is_delivered(connected, library, role):
    our, their = connected(library, "tcp", role, KEYS.get(library, ""))

    their.send("hello")

    (message,) = our.take()
    assert message.hops == (0 if library == "mangos" else 1)
    assert [message.session_id] == our.sessions()


def test_messages_of_mangos_are_discarded_and_counted_without_accept_zero_hop(connected):
    our, their = connected("mangos", "tcp", "listen")

    their.send("hello")
    our.until(lambda: our.counted("discards-zero-hops") == 1)
    our.send("to mangos")

    assert their.texts() == ["to mangos"]
    assert our.received == []


@pytest.mark.parametrize("role", ["listen", "dial"])
def test_a_message_over_the_limit_closes_the_connection_and_is_reported(connected, role):
    our, their = connected("pynng", "tcp", role, "|max-message=1000")

    their.send(first=0, count=1, length=1001)

    their.await_event("left")
    our.until(lambda: any("at most 1000 bytes; max-message=" in text for text in our.errors()))
    their.await_event("joined")
    their.send(first=0, count=1, length=1000)
    assert our.checksum(1) == checksum_of(1, 0, 1000)
