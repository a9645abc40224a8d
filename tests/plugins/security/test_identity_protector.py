"""The protector `identities`: its options and files, and the conformance suite with each cipher."""

import builtins
import os
from dataclasses import replace

import pytest
from aeron_security.identities import IdentityOptions, IdentityProtector
from aeron_security.identity_files import (
    MAX_PEERS,
    AllowedPeer,
    is_identity,
    parse_peers,
    read_identity,
    read_peers,
    write_identity,
    write_peers,
)
from aeron_security.noise import public_key_of
from aeron_security.options import CIPHERS, CommonOptions
from hypothesis import given
from hypothesis import strategies as st

from aeron_core._native.clock import Clock
from aeron_core.errors import ConfigurationError
from aeron_core.registry import Registry
from aeron_core.spi import ProtectedRole, ProtectorParams
from aeron_core.testing.conformance import DatagramProtectorConformance

KEY = "0123456789abcdef" * 4


@pytest.mark.parametrize("cipher", CIPHERS)
class TestIdentities(DatagramProtectorConformance):
    @pytest.fixture(autouse=True)
    def _options(self, identities, cipher):
        # Both ends have one identity, as two drivers of one host may.
        identities.options["cipher"] = cipher
        self.options = dict(identities.profiles("one", "one")["orders"])
        del self.options["protector"]

    def make(self, params):
        return IdentityProtector(replace(params, options=self.options))


def params(**options):
    return ProtectorParams(
        profile="orders", options=options, role=ProtectedRole.PUBLICATION, clock=Clock.manual()
    )


def test_it_is_installed_by_its_name(identities):
    options = dict(identities.profiles("one")["orders"])
    name = options.pop("protector")

    made = Registry.load().datagram_protector(name, params(**options), pytest.fail)

    assert isinstance(made, IdentityProtector)
    assert made.overhead == 56


def test_options_have_defaults():
    assert IdentityOptions.parse("orders", {"identity": "/i", "allow": "/a"}) == IdentityOptions(
        "/i", "/a", CommonOptions(1, 3600 * 10**9, False)
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"allow": "/a"}, "has no identity: set it to a file that `aeron-core keys generate --identity`"),
        ({"identity": "/i"}, "has no allow: set it to a file that `aeron-core keys allow` has written"),
        ({"identity": "/i", "secret_file": "/k"}, "unknown option 'secret_file': must be one of identity, "),
        ({"identity": "/i", "allow": "/a", "cipher": "rot13"}, "cipher=rot13: must be one of "),
    ],
)
def test_wrong_options_are_refused(options, text):
    with pytest.raises(ConfigurationError, match=f"security profile 'orders': {text}"):
        IdentityProtector(params(**options))


def test_an_installation_without_cryptography_is_refused_with_the_remedy(identities, monkeypatch):
    options = dict(identities.profiles("one")["orders"])
    del options["protector"]
    found = builtins.__import__

    def without(name, *rest):
        if name.startswith("cryptography"):
            raise ImportError(name)
        return found(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)

    with pytest.raises(ConfigurationError, match=r"needs the package cryptography: .*aeron-core\[secure\]"):
        IdentityProtector(params(**options))


def test_an_identity_that_was_written_can_be_read(tmp_path):
    path = tmp_path / "one"
    write_identity(path)

    assert len(read_identity(path)) == 32
    assert is_identity(path)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644])
def test_an_identity_that_others_can_read_is_refused(tmp_path, mode):
    path = tmp_path / "one"
    write_identity(path)
    path.chmod(mode)

    with pytest.raises(ConfigurationError, match=rf"mode {mode:04o} lets other users read or change it"):
        read_identity(path)


@given(st.binary(max_size=300))
def test_an_identity_file_with_another_content_is_refused_and_not_shown(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("keys") / "key"
    path.write_bytes(content)
    path.chmod(0o600)

    with pytest.raises(ConfigurationError, match="must have one line as written by") as caught:
        read_identity(path)
    assert len(str(caught.value)) < 300


def test_a_list_that_was_written_can_be_read(tmp_path):
    peers = [AllowedPeer("one", bytes(range(32))), AllowedPeer("two-2.org", bytes(32), 1_900_000_000_000)]
    path = tmp_path / "list"
    write_peers(path, peers)

    assert read_peers(path) == peers
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["list"]


def test_a_list_that_is_replaced_keeps_its_mode(tmp_path):
    path = tmp_path / "list"
    write_peers(path, [])
    path.chmod(0o644)

    write_peers(path, [AllowedPeer("one", bytes(32))])

    assert path.stat().st_mode & 0o777 == 0o644


def test_a_list_that_others_can_change_is_refused(tmp_path):
    path = tmp_path / "list"
    write_peers(path, [])
    path.chmod(0o664)

    with pytest.raises(ConfigurationError, match="mode 0664 lets other users change it"):
        read_peers(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"one {KEY} extra", "optionally until=TIME: has \\['extra'\\]"),
        (f"one {KEY} until=soon", "until='soon': must be a date or a time such as"),
        (f"one {KEY} until=2030-01-01 x", "must be a name, a public key"),
        ("one 12", "public key '12': must be 64 hexadecimal digits"),
        ("one", "public key '': must be 64"),
        (f"one {KEY}0", r"public key '01234567\.\.\.': must be 64"),
        (f"aeron-core-identity {KEY}", "is that of an identity file, which has a private key"),
        (f"{'x' * 65} {KEY}", "name of a peer 'x+': must be 1 to 64 letters"),
        (f"one {KEY}\none {'11' * 32}", "line 2: one or its key is there twice"),
        (f"one {KEY}\ntwo {KEY}", "line 2: two or its key is there twice"),
    ],
)
def test_a_wrong_line_of_a_list_is_named(text, expected):
    with pytest.raises(ConfigurationError, match=expected):
        parse_peers(text, "list")


def test_a_list_has_comments_and_a_limit():
    assert parse_peers(f"# peers\n\none {KEY} # the first\n", "list") == [
        AllowedPeer("one", bytes.fromhex(KEY))
    ]
    many = "".join(f"p{number} {number:064x}\n" for number in range(MAX_PEERS + 1))
    with pytest.raises(ConfigurationError, match="has 1025: must be at most 1024"):
        parse_peers(many, "list")


@given(st.text())
def test_any_text_is_a_list_or_refused(text):
    try:
        peers = parse_peers(text, "list")
    except ConfigurationError:
        return
    assert parse_peers("".join(each.line() for each in peers), "list") == peers


def test_a_public_key_is_that_of_the_identity():
    assert public_key_of(bytes(32)) != public_key_of(bytes([1]) * 32)
