"""The protector `group-secret`: its options, and the conformance suite with each cipher."""

import gc
import weakref
from dataclasses import replace

import pytest
from aeron_security import group_secret
from aeron_security.group_secret import GroupSecretOptions, GroupSecretProtector
from aeron_security.options import CIPHERS, CommonOptions
from secure_udp import expand, prk_of

from aeron_core._native.clock import Clock
from aeron_core.errors import ConfigurationError
from aeron_core.registry import Registry
from aeron_core.spi import ProtectedRole, ProtectorParams
from aeron_core.testing.conformance import DatagramProtectorConformance


@pytest.mark.parametrize("cipher", CIPHERS)
class TestGroupSecret(DatagramProtectorConformance):
    @pytest.fixture(autouse=True)
    def _options(self, key_file, cipher):
        self.options = {"secret_file": key_file(), "cipher": cipher}

    def make(self, params):
        return GroupSecretProtector(replace(params, options=self.options))


def params(**options):
    return ProtectorParams(
        profile="orders", options=options, role=ProtectedRole.PUBLICATION, clock=Clock.manual()
    )


def test_it_is_installed_by_its_name(key_file):
    registry = Registry.load()

    made = registry.datagram_protector("group-secret", params(secret_file=key_file()), pytest.fail)

    assert isinstance(made, GroupSecretProtector)
    assert made.overhead == 56


def test_keys_are_freed_with_the_protector_not_by_the_garbage_collector(key_file):
    made = Registry.load().datagram_protector("group-secret", params(secret_file=key_file()), pytest.fail)
    reference = weakref.ref(made)
    made.close()
    gc.disable()
    try:
        del made
        assert reference() is None
    finally:
        gc.enable()


def test_options_have_defaults():
    assert GroupSecretOptions.parse("orders", {"secret_file": "/k"}) == GroupSecretOptions(
        ("/k",), CommonOptions(1, 3600 * 10**9, False)
    )


def test_options_are_parsed():
    options = {
        "secret_file": "/k",
        "accepted_secret_files": "/a:/b",
        "cipher": "chacha20-poly1305",
        "rotation_interval": "90s",
        "allow_weak_freshness": "true",
    }

    assert GroupSecretOptions.parse("orders", options) == GroupSecretOptions(
        ("/k", "/a", "/b"), CommonOptions(3, 90 * 10**9, True)
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "has no secret_file: set it to a file"),
        ({"secret": "x"}, "unknown option 'secret': must be one of secret_file, "),
        ({"accepted_secret_files": "a:b:c:d"}, "accepted_secret_files has 4 files: must be at most 3"),
        ({"cipher": "rot13"}, "cipher=rot13: must be one of aes-128-gcm, aes-256-gcm, chacha20-poly1305"),
        ({"rotation_interval": "1ms"}, "rotation_interval=1ms: must be a duration from 1s to 604800s"),
        ({"rotation_interval": "soon"}, "rotation_interval=soon: must be a duration from 1s to 604800s"),
        ({"allow_weak_freshness": "yes"}, "allow_weak_freshness=yes: must be true or false"),
    ],
)
def test_wrong_options_are_refused(options, text):
    if "secret" not in options and options:
        options = {"secret_file": "/k", **options}

    with pytest.raises(ConfigurationError, match=f"security profile 'orders': {text}"):
        GroupSecretProtector(params(**options))


def test_a_machine_without_libcrypto_is_refused_with_the_remedy(key_file, monkeypatch):
    monkeypatch.setattr(group_secret.sealing, "is_available", lambda: False)

    with pytest.raises(ConfigurationError, match=r"found no libcrypto\.so\.3: install OpenSSL 3"):
        GroupSecretProtector(params(secret_file=key_file()))


def test_a_processor_without_random_numbers_is_refused_unless_allowed(key_file, monkeypatch):
    monkeypatch.setattr(group_secret.sealing, "has_fresh_numbers", lambda: False)

    with pytest.raises(ConfigurationError, match="has no instruction for random numbers"):
        GroupSecretProtector(params(secret_file=key_file()))
    GroupSecretProtector(params(secret_file=key_file(), allow_weak_freshness="true"))


def with_the_id_of(secret):
    """Return another secret with the same id, by which a receiver chooses the secret of a datagram."""
    return next(
        other
        for other in (bytes([*number.to_bytes(2, "little"), *bytes(30)]) for number in range(1, 65536))
        if sealing_id(other) == sealing_id(secret)
    )


def sealing_id(secret):
    return expand(prk_of(secret), b"id", 1)


def test_secrets_with_the_same_id_are_refused_because_one_would_never_be_tried(key_file):
    files = [key_file(), key_file(with_the_id_of(bytes(range(32))), "second.key")]

    with pytest.raises(
        ConfigurationError, match=r"orders.key.* and .*second.key.* have the same id: replace the newer one"
    ):
        GroupSecretProtector(params(secret_file=files[0], accepted_secret_files=files[1]))


def test_one_secret_may_be_named_twice(key_file):
    files = [key_file(), key_file(name="copy.key")]

    protector = GroupSecretProtector(params(secret_file=files[0], accepted_secret_files=files[1]))

    assert protector.take_fault() is None
