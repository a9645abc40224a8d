"""Encrypted connections: peers are authenticated by certificate."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.interop


def test_a_peer_with_an_untrusted_certificate_is_refused(ours, peer, url, files):
    their = peer("pynng", "pair1", f"serve={files.server}")

    our = ours("dial", their.listen(url("tls")), f"|ca={files.stranger}")

    our.until(lambda: any("certificate" in text for text in our.errors()))
    assert our.sessions() == []
