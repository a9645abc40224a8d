"""Secrets in files, and drivers that use them."""

import contextlib

import pytest
from aeron_security.identity_files import AllowedPeer, write_peers
from aeron_security.noise import public_key_of
from hosts import PRIVATE, HostPair

SECRET, OTHER = bytes(range(32)), bytes(range(100, 132))


@pytest.fixture
def key_file(tmp_path):
    """Return a function that writes a secret to a file and returns its path as text."""

    def write(secret=SECRET, name="orders.key", mode=0o600):
        path = tmp_path / name
        path.write_text(secret.hex() + "\n", encoding="ascii")
        path.chmod(mode)
        return str(path)

    return write


@pytest.fixture
def profiles(key_file):
    """Return profiles: two of one secret with different ciphers, and one with another secret."""
    secret_file = key_file()
    return {
        "orders": {"secret_file": secret_file},
        "strong": {"secret_file": secret_file, "cipher": "aes-256-gcm"},
        "other": {"secret_file": key_file(OTHER, "other.key")},
    }


class Identities:
    """Files of hosts with identities; `options` are added to each profile."""

    def __init__(self, folder):
        self._folder = folder
        self.options = {}
        for name, key in PRIVATE.items():
            path = folder / f"{name}.identity"
            path.write_text(f"aeron-core-identity {key.hex()}\n", encoding="ascii")
            path.chmod(0o600)

    def allow(self, host, *peers, until_ms=None):
        write_peers(
            self._folder / f"{host}.peers",
            [AllowedPeer(peer, public_key_of(PRIVATE[peer]), until_ms) for peer in peers],
        )

    def profiles(self, host, *peers):
        self.allow(host, *peers)
        return {
            "orders": {
                "protector": "identities",
                "identity": str(self._folder / f"{host}.identity"),
                "allow": str(self._folder / f"{host}.peers"),
                **self.options,
            }
        }


@pytest.fixture
def identities(tmp_path):
    """Return the files of hosts."""
    return Identities(tmp_path)


@pytest.fixture
def start_pair(tmp_path, identities):
    """Return a function that starts two drivers with identities; each argument is the peers that the host allows."""
    with contextlib.ExitStack() as stack:

        def start(one=("two", "three"), two=("one", "three"), three=("one", "two"), **settings):
            allowed = {"one": one, "two": two, "three": three}
            profiles = {name: identities.profiles(name, *peers) for name, peers in allowed.items()}
            return stack.enter_context(HostPair(tmp_path, profiles, **settings))

        yield start
