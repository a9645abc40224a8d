"""Handshakes of secure UDP written from docs/wire/secure-udp.md alone, on PyCA cryptography: the side of the tests."""

from __future__ import annotations

import hashlib
import os
import struct

from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from secure_udp import FRAMES, aead_of, expand

HELLO, COOKIE, FIRST, SECOND, THIRD = range(3, 8)
LENGTHS = {HELLO: 80, COOKIE: 80, FIRST: 168, SECOND: 160, THIRD: 136}


def mac(key, data):
    made = hmac.HMAC(key, hashes.SHA256())
    made.update(data)
    return made.finalize()


def public(private):
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def dh(private, theirs):
    return X25519PrivateKey.from_private_bytes(private).exchange(X25519PublicKey.from_public_bytes(theirs))


def halves(ck, secret):
    made = HKDF(hashes.SHA256(), 64, ck, b"").derive(secret)
    return made[:32], made[32:]


class Symmetric:
    """The symmetric state of Noise."""

    def __init__(self, prologue, responder):
        name = b"Noise_IK_25519_ChaChaPoly_SHA256"
        assert len(name) == 32
        self.h = self.ck = name
        self.mix_hash(prologue)
        self.mix_hash(responder)

    def mix_hash(self, data):
        self.h = hashlib.sha256(self.h + data).digest()

    def mix_key(self, secret):
        self.ck, self.k = halves(self.ck, secret)
        self.n = 0

    def nonce(self):
        self.n += 1
        return struct.pack("<4xQ", self.n - 1)

    def encrypt(self, data):
        sealed = ChaCha20Poly1305(self.k).encrypt(self.nonce(), data, self.h)
        self.mix_hash(sealed)
        return sealed

    def decrypt(self, sealed):
        data = ChaCha20Poly1305(self.k).decrypt(self.nonce(), sealed, self.h)
        self.mix_hash(sealed)
        return data

    def third_key(self, freshness):
        k1, _ = halves(self.ck, b"")
        return ChaCha20Poly1305(expand(k1, b"third" + freshness, 32))


def salt_of(prk, role, key):
    return expand(prk, b"salt" + bytes([role]) + key, 16)


class IdentityPeer:
    """A socket with an identity. `allowed` has the public keys of its peers; `granted` their secrets by salt."""

    def __init__(self, private, role, cipher, allowed, prk=None, random=os.urandom):
        self.private, self.role, self.cipher, self.allowed = private, role, cipher, allowed
        self.prk = prk or random(32)
        self.number = 0
        self.line, self.generation = b"a line  ", 0
        self.random = random
        self.granted = {}
        self.begun = {}
        self.answered = {}
        self.token_key = random(32)

    @property
    def salt(self):
        return salt_of(self.prk, self.role, public(self.private))

    def rotate(self):
        self.prk, self.number = expand(self.prk, b"next", 32), 0

    def seal(self, content):
        self.number += 1
        freshness = self.random(8)
        header = struct.pack(
            "<4s4B16sQ8s",
            b"AeSU",
            1,
            FRAMES,
            self.role,
            expand(self.prk, b"id", 1)[0],
            self.salt,
            self.number,
            freshness,
        )
        aead = aead_of(self.prk, self.cipher, self.role, self.salt, freshness)
        return header + aead.encrypt(struct.pack("<Q4x", self.number), content, header)

    def open(self, datagram):
        """Return the content; None if its salt is not granted, nor the next one of one that is."""
        salt, role = datagram[8:24], datagram[6]
        if salt not in self.granted:
            for prk, _top, key in list(self.granted.values()):
                after = expand(prk, b"next", 32)
                if salt_of(after, role, key) == salt:
                    self.granted[salt] = after, 0, key
                    break
            else:
                return None
        prk, top, _key = self.granted[salt]
        number, freshness = struct.unpack_from("<Q8s", datagram, 24)
        if number <= top:
            return None
        aead = aead_of(prk, self.cipher, role, salt, freshness)
        return aead.decrypt(struct.pack("<Q4x", number), datagram[40:], datagram[:40])

    def grant(self):
        return self.prk + struct.pack("<Q8sQ", self.number, self.line, self.generation)

    def admit(self, grant, role, key):
        prk, number, _line, _generation = struct.unpack("<32sQ8sQ", grant)
        self.granted.setdefault(salt_of(prk, role, key), (prk, number, key))

    def header(self, kind, theirs):
        return b"AeSU" + bytes([1, kind, self.role, self.cipher]) + self.salt + theirs

    def token(self, theirs, address=b""):
        return mac(self.token_key, theirs + address)[:16]

    def noise(self, initiator, responder_key):
        """`initiator` is the header of its first message."""
        prologue = b"aeron-core secure udp identities 1" + bytes(
            [initiator[7], initiator[6], 1 - initiator[6] if initiator[6] < 2 else 2]
        )
        return Symmetric(prologue + initiator[8:40], responder_key)

    def hello(self, theirs):
        return self.header(HELLO, theirs) + self.token(theirs) + bytes(24)

    def on_datagram(self, data, address=b""):
        """Return the answer to a datagram of a handshake, None if there is none; raise if it is not right."""
        kind, theirs = data[5], data[8:24]
        if data[24:40] != self.salt:
            return None
        assert data[:5] == b"AeSU\1"
        assert data[7] == self.cipher
        assert len(data) == LENGTHS[kind]
        return {
            HELLO: self.on_hello,
            COOKIE: self.on_cookie,
            FIRST: self.on_first,
            SECOND: self.on_second,
            THIRD: self.on_third,
        }[kind](data, theirs, address)

    def on_hello(self, data, theirs, address):
        token = data[40:56]
        hint = mac(public(self.private), b"hint" + token)[:8]
        return self.header(COOKIE, theirs) + token + self.token(theirs, address or b"?") + hint

    def on_cookie(self, data, theirs, address):
        token, cookie, hint = data[40:56], data[56:72], data[72:80]
        assert token == self.token(theirs)
        responder = next(key for key in self.allowed if mac(key, b"hint" + token)[:8] == hint)
        header = self.header(FIRST, theirs)
        state, e = self.noise(header, responder), self.random(32)
        state.mix_hash(public(e))
        state.mix_key(dh(e, responder))
        s = state.encrypt(public(self.private))
        state.mix_key(dh(self.private, responder))
        self.begun[theirs] = state, e, cookie, responder
        return header + cookie + token + public(e) + s + state.encrypt(b"")

    def on_first(self, data, theirs, address):
        cookie, token, e_i, s, empty = data[40:56], data[56:72], data[72:104], data[104:152], data[152:]
        assert cookie == self.token(theirs, address or b"?")
        state = self.noise(data[:40], public(self.private))
        state.mix_hash(e_i)
        state.mix_key(dh(self.private, e_i))
        s_i = state.decrypt(s)
        assert s_i in self.allowed
        state.mix_key(dh(self.private, s_i))
        assert state.decrypt(empty) == b""
        e = self.random(32)
        state.mix_hash(public(e))
        state.mix_key(dh(e, e_i))
        state.mix_key(dh(e, s_i))
        self.answered[theirs] = state, s_i
        return self.header(SECOND, theirs) + token + public(e) + state.encrypt(self.grant())

    def on_second(self, data, theirs, address):
        assert data[40:56] == self.token(theirs)
        state, e, cookie, responder = self.begun.pop(theirs)
        e_r = data[56:88]
        state.mix_hash(e_r)
        state.mix_key(dh(e, e_r))
        state.mix_key(dh(self.private, e_r))
        self.admit(state.decrypt(data[88:]), data[6], responder)
        freshness = self.random(8)
        head = self.header(THIRD, theirs) + cookie + freshness
        return head + state.third_key(freshness).encrypt(bytes(12), self.grant(), state.h + head)

    def on_third(self, data, theirs, address):
        assert data[40:56] == self.token(theirs, address or b"?")
        state, key = self.answered.pop(theirs)
        head = data[:64]
        grant = state.third_key(data[56:64]).decrypt(bytes(12), data[64:], state.h + head)
        self.admit(grant, data[6], key)
