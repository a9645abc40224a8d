"""Passphrases of private keys."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from aeron_media.connections.tls.contexts import MAX_PASSPHRASE_LENGTH, TlsContexts, TlsFileError
from cryptography.hazmat.primitives import serialization
from tls_ends import parameters

LONGEST = "x" * MAX_PASSPHRASE_LENGTH


def contexts(certificates, directory, passphrase, source):
    """Return the contexts of a server whose key is encrypted with `passphrase`."""
    key = serialization.load_pem_private_key(Path(certificates.server[1]).read_bytes(), None)
    locked = directory / "locked.key"
    locked.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(passphrase),
        )
    )
    params = parameters(cert=certificates.server[0], key=str(locked), **source)
    return TlsContexts(params, server_side=True)


@pytest.mark.parametrize("passphrase", ["open sesame", LONGEST[1:], "\u00f6ffne dich"])
def test_a_passphrase_decrypts_the_key(certificates, tmp_path, monkeypatch, passphrase):
    file = tmp_path / "passphrase"
    file.write_text(f"{passphrase}\nsecond line\n", encoding="utf-8")
    monkeypatch.setenv("TLS_PASSPHRASE", passphrase)

    assert contexts(certificates, tmp_path, passphrase.encode(), {"key-passphrase-file": str(file)})
    assert contexts(certificates, tmp_path, passphrase.encode(), {"key-passphrase-env": "TLS_PASSPHRASE"})


def test_a_passphrase_in_the_environment_may_be_any_bytes(certificates, tmp_path, monkeypatch):
    monkeypatch.setenv("TLS_PASSPHRASE", "\udcf6ffne dich")

    assert contexts(certificates, tmp_path, b"\xf6ffne dich", {"key-passphrase-env": "TLS_PASSPHRASE"})


def test_a_passphrase_beyond_the_limit_is_refused_with_its_key(certificates, tmp_path, monkeypatch):
    file = tmp_path / "passphrase"
    file.write_text(LONGEST + "x", encoding="utf-8")
    monkeypatch.setenv("TLS_PASSPHRASE", LONGEST + "x")

    with pytest.raises(
        TlsFileError, match="the passphrase has 1025 bytes: must have at most 1024"
    ) as failure:
        contexts(certificates, tmp_path, b"other", {"key-passphrase-file": str(file)})
    assert (failure.value.key, failure.value.text.partition(":")[0]) == ("key-passphrase-file", str(file))
    with pytest.raises(TlsFileError, match="must have at most 1024") as failure:
        contexts(certificates, tmp_path, b"other", {"key-passphrase-env": "TLS_PASSPHRASE"})
    assert failure.value.key == "key-passphrase-env"


def test_a_passphrase_of_the_greatest_length_is_tried(certificates, tmp_path, monkeypatch):
    monkeypatch.setenv("TLS_PASSPHRASE", LONGEST)

    with pytest.raises(TlsFileError, match="wrong passphrase"):
        contexts(certificates, tmp_path, b"other", {"key-passphrase-env": "TLS_PASSPHRASE"})


def test_a_wrong_certificate_is_not_reported_as_a_wrong_passphrase(certificates, tmp_path, monkeypatch):
    monkeypatch.setenv("TLS_PASSPHRASE", "open sesame")
    wrong = tmp_path / "cert.pem"
    wrong.write_text("not a certificate", encoding="utf-8")
    named = SimpleNamespace(server=(str(wrong), certificates.server[1]))

    with pytest.raises(
        TlsFileError, match=f"must contain a private key in PEM format, and cert={wrong} a certificate"
    ):
        contexts(named, tmp_path, b"open sesame", {"key-passphrase-env": "TLS_PASSPHRASE"})


def test_a_certificate_without_its_key_is_refused_with_the_key_that_names_one(certificates):
    with pytest.raises(
        TlsFileError, match=r"^cert=.*: must contain a certificate and its private key in PEM format"
    ):
        TlsContexts(parameters(cert=certificates.server[0]), server_side=True)


def test_a_key_of_another_certificate_in_the_same_file_is_refused(certificates, tmp_path):
    both = tmp_path / "both.pem"
    both.write_bytes(
        b"".join(Path(name).read_bytes() for name in (certificates.server[0], certificates.client[1]))
    )

    with pytest.raises(
        TlsFileError, match=r"^cert=.*both.pem: its private key is not that of its certificate"
    ):
        TlsContexts(parameters(cert=str(both)), server_side=True)
