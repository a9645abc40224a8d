"""Encrypted connections with pynng: each end proves who it is to the other that asks."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import trustme
from sp_messages import body, checksum_of

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A certificate with its key, who vouches for it, and a stranger who does not."""
    directory = tmp_path_factory.mktemp("certificates")
    authority, stranger = trustme.CA(), trustme.CA()
    names = SimpleNamespace(
        server=directory / "server.pem",
        trusted=directory / "trusted.pem",
        stranger=directory / "stranger.pem",
    )
    # mbedTLS, which is what pynng has, looks for names rather than for addresses.
    issued = authority.issue_cert("localhost", "127.0.0.1", common_name="localhost")
    names.server.write_bytes(issued.private_key_and_cert_chain_pem.bytes())
    names.trusted.write_bytes(authority.cert_pem.bytes())
    names.stranger.write_bytes(stranger.cert_pem.bytes())
    return names


@pytest.mark.parametrize("role", ["listen", "dial"])
@pytest.mark.parametrize("transport", ["tls", "wss"])
@pytest.mark.compatible("SP PAIR1 over {transport}", "pynng ↔ our driver, which {role}s")
def test_messages_go_both_ways_over_tls(ours, peer, url, files, transport, role):
    if role == "listen":
        our = ours("listen", url(transport), f"|cert={files.server}")
        their = peer("pynng", "pair1", f"trust={files.trusted}")
        their.dial(our.url.replace("127.0.0.1", "localhost"))
    else:
        their = peer("pynng", "pair1", f"serve={files.server}")
        where = their.listen(url(transport).replace("127.0.0.1", "localhost"))
        our = ours("dial", where, f"|ca={files.trusted}")
    our.await_peers()

    for length in (1, 1000, 65_536, 200_000):
        our.send(body(3, length))
        their.send(first=3, count=1, length=length)
        assert their.receive()["checksum"] == checksum_of(1, 3, length)
        assert our.checksum(1) == checksum_of(1, 3, length)


def test_we_do_not_talk_to_a_peer_that_nobody_we_trust_vouches_for(ours, peer, url, files):
    their = peer("pynng", "pair1", f"serve={files.server}")

    our = ours("dial", their.listen(url("tls")), f"|ca={files.stranger}")

    our.until(lambda: any("certificate" in text for text in our.errors()))
    assert our.sessions() == []
