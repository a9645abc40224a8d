"""Noise_IK_25519_ChaChaPoly_SHA256, compared with a published vector, and its errors."""

import copy
import json
from pathlib import Path

import pytest
from aeron_security import noise
from aeron_security.noise import Noise, public_key_of

from aeron_core.errors import ProtocolError

FILE = Path(__file__).parents[2] / "vectors" / "secure" / "handshakes" / "noise-ik.json"
VECTOR = {
    name: bytes.fromhex(value) if name != "source" else value
    for name, value in json.loads(FILE.read_text(encoding="ascii")).items()
}


def states():
    responder_key = public_key_of(VECTOR["responder_static"])
    return tuple(Noise(VECTOR["prologue"], responder_key, noise.agree) for _ in range(2))


def begin(initiator):
    return initiator.write_first(
        VECTOR["initiator_ephemeral"],
        VECTOR["initiator_static"],
        public_key_of(VECTOR["responder_static"]),
        VECTOR["first_payload"],
    )


def test_both_sides_make_and_read_the_messages_of_the_vector():
    initiator, responder = states()
    statics = []

    first = begin(initiator)
    payload = responder.read_first(first, VECTOR["responder_static"], statics.append)
    second = responder.write_second(VECTOR["responder_ephemeral"], VECTOR["second_payload"])

    assert first == VECTOR["first"]
    assert payload == VECTOR["first_payload"]
    assert statics == [public_key_of(VECTOR["initiator_static"])]
    assert second == VECTOR["second"]
    assert initiator.read_second(second) == VECTOR["second_payload"]
    assert initiator.h == responder.h == VECTOR["handshake_hash"]


def test_both_sides_have_the_same_third_key_for_one_freshness_only():
    initiator, responder = states()
    responder.read_first(begin(initiator), VECTOR["responder_static"], lambda _: None)
    initiator.read_second(responder.write_second(VECTOR["responder_ephemeral"], b""))

    sealed = initiator.third(b"1" * 8).encrypt(bytes(12), b"grant", b"")

    assert responder.third(b"1" * 8).decrypt(bytes(12), sealed, b"") == b"grant"
    assert responder.third(b"2" * 8).encrypt(bytes(12), b"grant", b"") != sealed


def test_a_message_with_a_changed_bit_is_refused():
    initiator, responder = states()
    first = begin(initiator)
    reader = copy.copy(responder)
    reader.read_first(first, VECTOR["responder_static"], lambda _: None)
    second = reader.write_second(VECTOR["responder_ephemeral"], b"payload")

    for bit in range(8 * len(first)):
        # X25519 ignores the highest bit of a key; the hash has it.
        changed = bytearray(first)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ProtocolError):
            copy.copy(responder).read_first(bytes(changed), VECTOR["responder_static"], lambda _: None)
    for bit in range(8 * len(second)):
        changed = bytearray(second)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ProtocolError):
            copy.copy(initiator).read_second(bytes(changed))


def test_a_key_of_small_order_is_refused():
    _, responder = states()

    with pytest.raises(ProtocolError, match="small order"):
        responder.read_first(bytes(96), VECTOR["responder_static"], lambda _: None)


def test_ephemeral_keys_differ_if_only_the_processor_draws_other_numbers(monkeypatch):
    # As in two copies of one virtual machine.
    monkeypatch.setattr("os.urandom", bytes)

    made = {noise.new_ephemeral(lambda number=number: number.to_bytes(8, "little")) for number in range(9)}

    assert len(made) == 9
