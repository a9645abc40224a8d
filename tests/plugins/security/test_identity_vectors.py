"""Handshakes that two drivers held once: later versions and other programs must hold them byte by byte."""

import json
from pathlib import Path

import pytest
from aeron_security import noise
from aeron_security._native.sealing import ADMIT, SealedDatagrams, SealingSession
from aeron_security.handshakes import Grant, Handshakes, Host
from aeron_security.identity_files import AllowedPeer
from identities import LENGTHS, IdentityPeer, public
from wire import Wire

from aeron_core._native.address import SocketAddress
from aeron_core._native.clock import Clock
from aeron_core._native.datagrams import PythonDatagramChannel
from aeron_core.testing import DatagramProbe

FOLDER = Path(__file__).parents[2] / "vectors" / "secure" / "handshakes"
NAMES = ("aes-128-gcm", "aes-256-gcm", "chacha20-poly1305")
THERE = SocketAddress.of("10.0.0.9", 1)


def unhex(value):
    if isinstance(value, dict):
        return {name: unhex(each) for name, each in value.items()}
    if isinstance(value, list):
        return [unhex(each) for each in value]
    return bytes.fromhex(value) if isinstance(value, str) else value


@pytest.fixture(params=NAMES)
def vector(request):
    return unhex(json.loads((FOLDER / f"{request.param}.json").read_text(encoding="ascii")))


class RecordedPeer(IdentityPeer):
    """A peer that draws what was drawn, and gives the tokens that were given."""

    def __init__(self, vector, side, freshness):
        host, other = vector[side], vector["responder" if side == "initiator" else "initiator"]
        super().__init__(
            host["static"],
            host["role"],
            vector["cipher"],
            [public(other["static"])],
            host["prk"],
            lambda length: {8: freshness, 32: host["ephemeral"]}[length],
        )
        self.number = number_of(vector, host["role"])
        self.line, self.generation = host["line"], host["generation"]
        self._token = vector["handshake"]["cookie"][40 if side == "initiator" else 56 :][:16]

    def token(self, theirs, address=b""):
        return self._token


def number_of(vector, role):
    """Return the number of the last datagram that was sealed before those of the vector."""
    first = next(each["datagram"] for each in vector["frames"] if each["role"] == role)
    return int.from_bytes(first[24:32], "little") - 1


def grant_of(vector, side):
    host = vector[side]
    line = int.from_bytes(host["line"], "little")
    return Grant(host["prk"], number_of(vector, host["role"]), line, host["generation"])


def test_the_wire_page_holds_them(vector):
    messages = vector["handshake"]
    initiator = RecordedPeer(vector, "initiator", messages["third"][56:64])
    responder = RecordedPeer(vector, "responder", b"")

    assert initiator.hello(responder.salt) == messages["hello"]
    assert responder.on_datagram(messages["hello"]) == messages["cookie"]
    assert initiator.on_datagram(messages["cookie"]) == messages["first"]
    assert responder.on_datagram(messages["first"]) == messages["second"]
    assert initiator.on_datagram(messages["second"]) == messages["third"]
    assert responder.on_datagram(messages["third"]) is None
    for row in vector["frames"]:
        reader = responder if row["role"] == initiator.role else initiator
        assert reader.open(row["datagram"]) == row["content"]
    assert {name: len(messages[name]) for name in messages} == dict(
        zip(messages, LENGTHS.values(), strict=True)
    )


def test_the_driver_holds_them(vector, monkeypatch):
    messages, admitted = vector["handshake"], []

    def made(side, other):
        host = vector[side]
        found = Handshakes(
            Host(
                private_key=host["static"],
                public_key=public(host["static"]),
                cipher=vector["cipher"],
                role=host["role"],
                grant=lambda: grant_of(vector, side),
                admit=lambda peer, grant, _: admitted.append((peer, grant)),
                fresh=lambda: messages["third"][56:64],
            )
        )
        found.set_peers(
            {public(vector[other]["static"]): AllowedPeer(other, public(vector[other]["static"]))}
        )
        return found

    initiator, responder = made("initiator", "responder"), made("responder", "initiator")
    monkeypatch.setattr(noise, "new_ephemeral", lambda _: vector["initiator"]["ephemeral"])
    assert initiator.on_datagram(messages["cookie"], "10.0.0.2", 0) == messages["first"]
    monkeypatch.setattr(noise, "new_ephemeral", lambda _: vector["responder"]["ephemeral"])
    assert responder.on_datagram(messages["first"], "10.0.0.1", 0) == messages["second"]
    assert initiator.on_datagram(messages["second"], "10.0.0.2", 0) == messages["third"]
    assert responder.on_datagram(messages["third"], "10.0.0.1", 0) is None

    assert [(peer.name, grant) for peer, grant in admitted] == [
        (side, grant_of(vector, side)) for side in ("responder", "initiator")
    ]
    # Each handshake has four agreements on each side.
    assert initiator.agreements == responder.agreements == 4
    for peer, grant in admitted:
        role = vector[peer.name]["role"]
        assert opened(vector, role, peer.public_key, grant.secret, grant.number) == [
            row["content"] for row in vector["frames"] if row["role"] == role
        ]


def opened(vector, role, key, secret, number):
    """Return what a session that admitted a grant opens."""
    waiting = [(row["datagram"], THERE) for row in vector["frames"] if row["role"] == role]
    session = SealingSession(
        [bytes(32)], vector["cipher"], 1 - role, role, Clock.manual(), public_key=bytes(32)
    )
    assert session.order(ADMIT, 1, key, secret, number)
    probe = DatagramProbe(SealedDatagrams(PythonDatagramChannel(Wire(waiting)), session))
    return [content for slot in probe.receive() for content in slot.datagrams]


def test_a_peer_cannot_take_the_salt_of_another_one_in_advance(vector):
    # A receiver of a sender has its secret, and could grant it as its own, with a number that blocks it.
    role, secret = vector["responder"]["role"], vector["responder"]["prk"]

    assert opened(vector, role, public(bytes([9]) * 32), secret, 0) == []
    assert opened(vector, role, public(vector["responder"]["static"]), secret, 0) != []
