"""nng, and our connections without a driver."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import sp_peers
import trustme

pytest.importorskip("wsproto", reason="needs wsproto: pip install aeron-core[websocket]")


@pytest.fixture(scope="session")
def nng_python() -> Path:
    """Return a Python with pynng."""
    return sp_peers.make_python()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """Files of a certificate authority and of a server with its certificate."""
    directory = tmp_path_factory.mktemp("certificates")
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1", "localhost", common_name="127.0.0.1")
    ca, cert, key = (str(directory / name) for name in ("ca.pem", "server.pem", "server.key"))
    authority.cert_pem.write_to_path(ca)
    Path(cert).write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(key)
    return SimpleNamespace(ca=ca, server=(cert, key))
