"""Encrypted connections: each end proves who it is to the other that asks."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.interop


def test_we_do_not_talk_to_a_peer_that_nobody_we_trust_vouches_for(ours, peer, url, files):
    their = peer("pynng", "pair1", f"serve={files.server}")

    our = ours("dial", their.listen(url("tls")), f"|ca={files.stranger}")

    our.until(lambda: any("certificate" in text for text in our.errors()))
    assert our.sessions() == []
