"""Noise_IK_25519_ChaChaPoly_SHA256, both sides, on the primitives of PyCA cryptography.

Not here: datagrams and cookies (`handshakes`). Source: revision 34 of the Noise protocol framework, as written out in
docs/wire/secure-udp.md.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand

from aeron_core.errors import ProtocolError

PROTOCOL: Final = b"Noise_IK_25519_ChaChaPoly_SHA256"
KEY_LENGTH: Final = 32
#: Length of an encrypted static key, and of a tag.
SEALED_KEY_LENGTH: Final = 48
TAG_LENGTH: Final = 16


def public_key_of(private_key: bytes) -> bytes:
    """Return the public key of 32 bytes of a private one."""
    return X25519PrivateKey.from_private_bytes(private_key).public_key().public_bytes_raw()


def new_ephemeral(fresh: Callable[[], bytes]) -> bytes:
    """Return a new private key; `fresh` returns 8 bytes that copies of a virtual machine do not share."""
    numbers = b"".join(fresh() for _ in range(4))
    return hmac.digest(os.urandom(KEY_LENGTH), numbers, "sha256")


def agree(private_key: bytes, public_key: bytes) -> bytes:
    """Return what X25519 agrees on. Raises ProtocolError for a public key that would make it constant."""
    try:
        return X25519PrivateKey.from_private_bytes(private_key).exchange(
            X25519PublicKey.from_public_bytes(public_key)
        )
    except ValueError:
        raise ProtocolError("the public key has a small order") from None


class Noise:
    """State of one handshake; after an error, use a copy from before. `agree` may count its calls."""

    def __init__(self, prologue: bytes, responder_key: bytes, agree: Callable[[bytes, bytes], bytes]) -> None:
        self._agree = agree
        self._ck = self.h = PROTOCOL
        self._key = b""
        self._count = 0
        self._ephemeral = b""
        self._static = b""
        self._theirs = b""
        self._mix_hash(prologue)
        self._mix_hash(responder_key)

    def _mix_hash(self, data: bytes) -> None:
        self.h = hashlib.sha256(self.h + data).digest()

    def _mix_key(self, private_key: bytes, public_key: bytes) -> None:
        self._ck, self._key = _two(self._ck, self._agree(private_key, public_key))
        self._count = 0

    def _nonce(self) -> bytes:
        self._count += 1
        return bytes(4) + (self._count - 1).to_bytes(8, "little")

    def _encrypt(self, data: bytes) -> bytes:
        sealed = ChaCha20Poly1305(self._key).encrypt(self._nonce(), data, self.h)
        self._mix_hash(sealed)
        return sealed

    def _decrypt(self, sealed: bytes) -> bytes:
        try:
            data = ChaCha20Poly1305(self._key).decrypt(self._nonce(), sealed, self.h)
        except InvalidTag:
            raise ProtocolError("a message is not authentic") from None
        self._mix_hash(sealed)
        return data

    def write_first(self, ephemeral: bytes, static: bytes, theirs: bytes, payload: bytes = b"") -> bytes:
        """Return message 1, for the responder whose static public key is `theirs`; the other keys are private."""
        self._ephemeral, self._static = ephemeral, static
        public = public_key_of(ephemeral)
        self._mix_hash(public)
        self._mix_key(ephemeral, theirs)
        sealed_static = self._encrypt(public_key_of(static))
        self._mix_key(static, theirs)
        return public + sealed_static + self._encrypt(payload)

    def read_first(self, message: bytes, static: bytes, check: Callable[[bytes], None]) -> bytes:
        """Return the payload of message 1; `check` gets the static key of the initiator, and may raise."""
        self._theirs = message[:KEY_LENGTH]
        self._mix_hash(self._theirs)
        self._mix_key(static, self._theirs)
        end = KEY_LENGTH + SEALED_KEY_LENGTH
        self._static = self._decrypt(message[KEY_LENGTH:end])
        check(self._static)
        self._mix_key(static, self._static)
        return self._decrypt(message[end:])

    def write_second(self, ephemeral: bytes, payload: bytes) -> bytes:
        """Return message 2, after `read_first`."""
        public = public_key_of(ephemeral)
        self._mix_hash(public)
        self._mix_key(ephemeral, self._theirs)
        self._mix_key(ephemeral, self._static)
        return public + self._encrypt(payload)

    def read_second(self, message: bytes) -> bytes:
        """Return the payload of message 2, after `write_first`."""
        theirs = message[:KEY_LENGTH]
        self._mix_hash(theirs)
        self._mix_key(self._ephemeral, theirs)
        self._mix_key(self._static, theirs)
        return self._decrypt(message[KEY_LENGTH:])

    def third(self, freshness: bytes) -> ChaCha20Poly1305:
        """Return the cipher of the third message, after message 2."""
        k1, _ = _two(self._ck, b"")
        key = HKDFExpand(hashes.SHA256(), KEY_LENGTH, b"third" + freshness).derive(k1)
        return ChaCha20Poly1305(key)


def _two(chaining_key: bytes, secret: bytes) -> tuple[bytes, bytes]:
    made = HKDF(hashes.SHA256(), 2 * KEY_LENGTH, chaining_key, b"").derive(secret)
    return made[:KEY_LENGTH], made[KEY_LENGTH:]
