"""Certificates, created for each run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import trustme
from cryptography.hazmat.primitives import serialization

PASSPHRASE = b"open sesame"


def make_certificates(directory: Path) -> SimpleNamespace:
    """Return files of an authority, a server and a client certified by it, and another authority."""

    def write(name, *blobs):
        path = directory / name
        path.write_bytes(b"".join(blob.bytes() for blob in blobs))
        return str(path)

    authority, stranger = trustme.CA(), trustme.CA()

    def issue(name, issuer, *identities):
        issued = issuer.issue_cert(*identities)
        return (
            write(f"{name}.pem", *issued.cert_chain_pems),
            write(f"{name}.key", issued.private_key_pem),
        )

    server = issue("server", authority, "127.0.0.1", "localhost")
    # The key of the server, encrypted with PASSPHRASE.
    locked = directory / "locked.key"
    locked.write_bytes(
        serialization.load_pem_private_key(Path(server[1]).read_bytes(), None).private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(PASSPHRASE),
        )
    )
    return SimpleNamespace(
        directory=directory,
        ca=write("ca.pem", authority.cert_pem),
        other_ca=write("other-ca.pem", stranger.cert_pem),
        server=server,
        locked=str(locked),
        renewed=issue("renewed", authority, "127.0.0.1", "renewed.example"),
        elsewhere=issue("elsewhere", authority, "elsewhere.example"),
        client=issue("client", authority, "writer.example"),
        strange_client=issue("strange", stranger, "writer.example"),
    )
