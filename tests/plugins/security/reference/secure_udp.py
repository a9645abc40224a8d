"""Secure UDP written from docs/wire/secure-udp.md alone, on PyCA cryptography: the other side of the tests."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass

from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

FRAMES, CHALLENGE, ANSWER = range(3)
AEADS = {1: (AESGCM, 16), 2: (AESGCM, 32), 3: (ChaCha20Poly1305, 32)}


def expand(prk, info, length):
    return HKDFExpand(hashes.SHA256(), length, info).derive(prk)


def prk_of(secret):
    extract = hmac.HMAC(b"aeron-core secure udp 1", hashes.SHA256())
    extract.update(secret)
    return extract.finalize()


def aead_of(prk, cipher, role, salt, freshness):
    traffic_key = expand(prk, b"traffic" + bytes([role, cipher]) + salt, 32)
    blocks = b"".join(freshness + bytes([i]) + bytes(7) for i in range(2))
    ecb = Cipher(algorithms.AES(traffic_key), modes.ECB()).encryptor()
    kind, length = AEADS[cipher]
    return kind(ecb.update(blocks)[:length])


@dataclass
class Opened:
    kind: int
    role: int
    salt: bytes
    number: int
    freshness: bytes
    content: bytes


def open_sealed(secret, cipher, datagram):
    """Return the content and header of a datagram; raise InvalidTag if it is forged."""
    magic, version, kind, role, secret_id, salt, number, freshness = struct.unpack_from(
        "<4s4B16sQ8s", datagram
    )
    prk = prk_of(secret)
    assert (magic, version, bytes([secret_id])) == (b"AeSU", 1, expand(prk, b"id", 1))
    aead = aead_of(prk, cipher, role, salt, freshness)
    nonce = struct.pack("<Q4x", number)
    return Opened(kind, role, salt, number, freshness, aead.decrypt(nonce, datagram[40:], datagram[:40]))


class Peer:
    """A socket of the other side."""

    def __init__(self, secret, cipher, role, salt=None):
        self.prk, self.secret, self.cipher, self.role = prk_of(secret), secret, cipher, role
        self.salt, self.number = salt or os.urandom(16), 0

    def seal(self, content, kind=FRAMES, freshness=None, number=None):
        self.number = self.number + 1 if number is None else number
        freshness = freshness or os.urandom(8)
        header = struct.pack(
            "<4s4B16sQ8s",
            b"AeSU",
            1,
            kind,
            self.role,
            expand(self.prk, b"id", 1)[0],
            self.salt,
            self.number,
            freshness,
        )
        aead = aead_of(self.prk, self.cipher, self.role, self.salt, freshness)
        return header + aead.encrypt(struct.pack("<Q4x", self.number), content, header)

    def rotate(self):
        self.salt = expand(self.prk, b"next" + bytes([self.role]) + self.salt, 16)
        self.number = 0

    def answer(self, challenge):
        """Return the answer to a challenge of this socket's salt."""
        opened = open_sealed(self.secret, self.cipher, challenge)
        assert (opened.kind, opened.content[:16]) == (CHALLENGE, self.salt)
        return self.seal(opened.content[16:], ANSWER)
