"""What went wrong with TLS, in words, on its way from the relay to the conductor."""

from __future__ import annotations

import ssl
from collections import deque
from typing import Final

from aeron_core._native.address import SocketAddress
from aeron_core.spi.endpoints import Fault

#: Faults that wait to be logged; more are dropped, so that a flood of them costs no memory. Our own number.
KEPT: Final = 16

# Reasons that say more in our words than in those of OpenSSL.
_TEXTS: Final = {
    "WRONG_VERSION_NUMBER": "the peer speaks no TLS",
    "HTTP_REQUEST": "the peer speaks HTTP",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the peer has sent no certificate, which client-auth=required asks for",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "the peer requires a certificate: cert= and key= name it",
    "TLSV1_ALERT_UNKNOWN_CA": "the peer does not know who has issued our certificate",
    "UNSUPPORTED_PROTOCOL": "the peer offers no TLS 1.2 or later",
}


class RelayFaults:
    """Kept by the relay's thread, taken by the conductor."""

    def __init__(self) -> None:
        # Appending and popping are atomic.
        self._kept: deque[Fault] = deque(maxlen=KEPT)

    def keep(self, text: str, peer: SocketAddress | None = None) -> None:
        """Keep a fault, and the peer that it came from."""
        self._kept.append(Fault(text, "" if peer is None else str(peer)))

    def take(self) -> Fault | None:
        """Return a fault that was not taken yet, the oldest first."""
        try:
            return self._kept.popleft()
        except IndexError:
            return None


def tls_text(error: ssl.SSLError) -> str:
    """Return why TLS has failed, lower case."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the peer's certificate was not accepted: {error.verify_message.rstrip('.')}"
    if error.reason in _TEXTS:
        return _TEXTS[error.reason]
    return f"TLS has failed: {(error.reason or str(error)).lower().replace('_', ' ')}"
