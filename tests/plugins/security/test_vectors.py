"""Datagrams that a driver sealed once: later versions and other programs must open them."""

import itertools
import json
from pathlib import Path

import pytest
from aeron_security._native.sealing import SealedDatagrams, SealingSession
from secure_udp import ANSWER, CHALLENGE, FRAMES, Peer, expand, open_sealed, prk_of
from wire import Wire

from aeron_core._native.address import SocketAddress
from aeron_core._native.clock import Clock
from aeron_core._native.datagrams import PythonDatagramChannel
from aeron_core.testing import DatagramProbe

FILES = sorted((Path(__file__).parents[2] / "vectors" / "secure").glob("*.json"))
THERE = SocketAddress.of("10.0.0.9", 1)


def parsed(path):
    document = json.loads(path.read_text(encoding="utf-8"))
    secret = bytes.fromhex(document["secret"])
    rows = [
        {name: bytes.fromhex(value) if isinstance(value, str) else value for name, value in row.items()}
        for row in document["datagrams"]
    ]
    return secret, document["cipher"], rows


def test_there_are_vectors_of_each_cipher():
    assert [parsed(path)[1] for path in FILES] == [1, 2, 3]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_wire_page_opens_and_seals_them(path):
    secret, cipher, rows = parsed(path)

    for row in rows:
        opened = open_sealed(secret, cipher, row["datagram"])
        assert {**vars(opened), "datagram": row["datagram"]} == row
        peer = Peer(secret, cipher, row["role"], row["salt"])
        assert (
            peer.seal(row["content"], row["kind"], freshness=row["freshness"], number=row["number"])
            == row["datagram"]
        )
    assert {(row["kind"], row["role"]) for row in rows} == {
        (kind, role) for kind in (FRAMES, CHALLENGE, ANSWER) for role in (0, 1)
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_salts_of_a_role_follow_one_another(path):
    secret, _, rows = parsed(path)

    for role in (0, 1):
        salts = list(dict.fromkeys(row["salt"] for row in rows if row["role"] == role))
        assert len(salts) > 1
        for before, after in itertools.pairwise(salts):
            assert expand(prk_of(secret), b"next" + bytes([role]) + before, 16) == after


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_driver_opens_them_once_their_sender_has_proved_itself(path):
    secret, cipher, rows = parsed(path)
    found = 0
    for role in (0, 1):
        wire = Wire()
        session = SealingSession([secret], cipher, 1 - role, role, Clock.manual())
        probe = DatagramProbe(SealedDatagrams(PythonDatagramChannel(wire), session), slots=16)

        def receive(*datagrams, wire=wire, probe=probe):
            wire.waiting += [(datagram, THERE) for datagram in datagrams]
            contents = []
            while wire.waiting:
                contents += [content for slot in probe.receive() for content in slot.datagrams]
            return contents

        of_role = [row for row in rows if row["role"] == role and row["kind"] == FRAMES]
        first = of_role[0]["salt"]
        sender = Peer(secret, cipher, role, first)
        receive(sender.seal(b"", number=1))
        sender.number = 1
        receive(sender.answer(wire.datagrams()[0]))
        expected = [row["content"] for row in of_role if row["salt"] != first or row["number"] > 2]

        assert receive(*(row["datagram"] for row in of_role)) == expected
        found += len(expected)
    assert found >= 10
