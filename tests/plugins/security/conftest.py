"""Secrets in files, and drivers that use them."""

import pytest

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
