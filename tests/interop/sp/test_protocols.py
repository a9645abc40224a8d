"""PAIR version 0 with those who speak it, and nobody at all who speaks another protocol."""

from __future__ import annotations

import pytest
from sp_messages import body, checksum_of

pytestmark = pytest.mark.interop

PAIR0 = "|protocol=pair0"


@pytest.mark.parametrize("role", ["listen", "dial"])
@pytest.mark.parametrize("transport", ["tcp", "ipc"])
@pytest.mark.parametrize("library", ["pynng", "nng", "mangos"])
@pytest.mark.compatible("SP PAIR0 over {transport}", "{library} ↔ our driver, which {role}s")
def test_messages_of_pair0_go_both_ways(connected, library, transport, role):
    our, their = connected(library, transport, role, PAIR0, kind="pair0")

    their.tell("receive", count=500, timeout=30)
    their.tell("send", first=70, count=500)
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
def test_who_speaks_the_other_version_is_turned_away_and_told_of(
    ours, peer, url, library, role, mine, theirs, words
):
    their = peer(library, theirs)
    our = ours(role, url("tcp") if role == "listen" else their.listen(url("tcp")), f"|protocol={mine}")
    if role == "listen":
        their.dial(our.url)

    our.until(lambda: any(all(word in text for word in words) for text in our.errors()))

    assert our.counted("mismatched") >= 1
    assert our.sessions() == []


def test_what_nanocat_sends_is_received(ours, start, nanocat, url):
    our = ours("listen", url("tcp"), PAIR0)

    start(*nanocat, "--pair", "--connect", our.url, "--data", "from nanocat", "--interval", "1")

    assert our.texts() == ["from nanocat"]


@pytest.mark.parametrize("role", ["listen", "dial"])
@pytest.mark.compatible("SP PAIR0 over IPC", "our driver, which {role}s → nanocat")
def test_nanocat_prints_what_we_send(ours, start, nanocat, url, role):
    where = url("ipc")
    our = ours(role, where, PAIR0)
    verb = {"listen": "--connect", "dial": "--bind"}[role]
    cat = start(*nanocat, "--pair", verb, where, "--quoted")
    our.await_peers()

    our.send("hello")

    cat.await_line('"hello"')


@pytest.mark.parametrize("role", ["listen", "dial"])
@pytest.mark.parametrize("transport", ["ipc", "abstract"])
@pytest.mark.parametrize(("version", "keys"), [("pair0", PAIR0), ("pair1", "")])
@pytest.mark.compatible("SP over {transport}", "our driver, which {role}s → nngcat --{version}")
def test_nngcat_prints_what_we_send(ours, start, nngcat, url, role, transport, version, keys):
    where = url(transport)
    our = ours(role, where, keys)
    verb = {"listen": "--dial", "dial": "--listen"}[role]
    cat = start(*nngcat, f"--{version}", verb, where, "--quoted")
    our.await_peers()

    our.send("hello")

    cat.await_line('"hello"')


@pytest.mark.parametrize(("version", "keys"), [("pair0", PAIR0), ("pair1", "")])
@pytest.mark.compatible("SP over tcp", "nngcat --{version} → our driver")
def test_what_nngcat_sends_is_received(ours, start, nngcat, url, version, keys):
    our = ours("listen", url("tcp"), keys)

    start(*nngcat, f"--{version}", "--dial", our.url, "--data", "from nngcat", "--interval", "1")

    assert our.texts(2) == ["from nngcat"] * 2
