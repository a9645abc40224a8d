"""PAIR version 0: compatible peers exchange messages, peers of other protocols are refused."""

from __future__ import annotations

import pytest
from sp_messages import body, checksum_of
from sp_peers import MEETINGS, dialed, of_this_process

pytestmark = pytest.mark.interop

PAIR0 = "|protocol=pair0"


@pytest.mark.parametrize("role", ["listen", "dial"])
@pytest.mark.parametrize(("library", "transport"), MEETINGS)
@pytest.mark.compatible("SP PAIR0 over {transport}", "{library} ↔ our driver, which {role}s")
def test_messages_of_pair0_pass_in_both_directions(connected, library, transport, role):
    our, their = connected(library, transport, role, PAIR0, kind="pair0")

    their.command("receive", count=500, timeout=30)
    their.command("send", first=70, count=500)
    for index in range(500):
        our.send(body(index))

    assert our.checksum(500) == checksum_of(500, 70)
    assert their.await_event("received")["checksum"] == checksum_of(500)
    assert our.errors() == []


@pytest.mark.parametrize(
    ("mine", "theirs", "words"),
    [
        ("pair1", "pair0", ("speaks PAIR0", "this end PAIR1")),
        ("pair0", "pair1", ("speaks PAIR1", "this end PAIR0")),
    ],
)
@pytest.mark.parametrize("role", ["listen", "dial"])
@pytest.mark.parametrize("library", ["pynng", "nng", "mangos"])
def test_a_peer_of_the_other_protocol_version_is_refused_and_reported(
    ours, peer, url, library, role, mine, theirs, words
):
    their = peer(library, theirs)
    our = ours(role, url("tcp") if role == "listen" else their.listen(url("tcp")), f"|protocol={mine}")
    if role == "listen":
        their.dial(our.url)

    our.until(lambda: any(all(word in text for word in words) for text in our.errors()))

    # The driver updates its counters after the error log.
    our.until(lambda: our.counted("mismatched") >= 1)
    assert our.sessions() == []


@pytest.fixture
def met(ours, start, url, secured):
    """Connect one of our endpoints with a program that sends a message and prints received ones."""

    def meet(role, transport, keys, command):
        more, options = secured(transport, role)
        where = url(transport) if role == "listen" else of_this_process(url(transport))
        if "nanocat" in command and transport == "ws":
            # It does not support a path.
            where = where.removesuffix("/pair")
        our = ours(role, where, f"{keys}{more}|backoff-init=10ms|backoff-max=50ms")
        addressed = ["--connect", dialed(our.url, "nng")] if role == "listen" else ["--bind", where]
        cat = start(*command, *addressed, *_files(options), "--data", "from a cat", "--quoted")
        our.await_peers()
        return our, cat

    return meet


def _files(options):
    """Convert options of our peers to options of nngcat."""
    words = [option.split("=") for option in options]
    return [word for role, file in words for word in ({"serve": "--cert", "trust": "--cacert"}[role], file)]


@pytest.mark.parametrize("role", ["listen", "dial"])
@pytest.mark.parametrize("transport", ["tcp", "ipc", "ws"])
@pytest.mark.compatible("SP PAIR0 over {transport}", "nanocat ↔ our driver, which {role}s")
def test_nanocat_sends_and_prints(met, nanocat, role, transport):
    our, cat = met(role, transport, PAIR0, [*nanocat, "--pair"])

    our.send("hello")

    assert our.texts() == ["from a cat"]
    cat.await_line('"hello"')


@pytest.mark.parametrize("role", ["listen", "dial"])
@pytest.mark.parametrize("transport", ["tcp", "ipc", "abstract", "tls", "ws", "wss"])
@pytest.mark.parametrize(("version", "keys"), [("pair0", PAIR0), ("pair1", "")])
@pytest.mark.compatible("SP over {transport}", "nngcat --{version} ↔ our driver, which {role}s")
def test_nngcat_sends_and_prints(met, nngcat, role, transport, version, keys):
    our, cat = met(role, transport, keys, [*nngcat, f"--{version}"])

    our.send("hello")

    assert our.texts() == ["from a cat"]
    cat.await_line('"hello"')
