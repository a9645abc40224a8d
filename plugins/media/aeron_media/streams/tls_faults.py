"""What went wrong with TLS, in words, on its way from the relay to the conductor."""

from __future__ import annotations

import enum
import ssl
from collections import Counter, deque
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


class TlsFault(enum.Enum):
    """Why there is no connection, as it is counted."""

    CERTIFICATE = "certificate"
    PROTOCOL = "protocol"
    REFUSED = "refused"
    TIMEOUT = "timeout"
    OTHER = "other"


_PROTOCOL_REASONS: Final = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNSUPPORTED_PROTOCOL"}


class TlsFaults:
    """Kept by the relay's thread, taken by the conductor."""

    def __init__(self) -> None:
        # Appending and popping are atomic.
        self._kept: deque[Fault] = deque(maxlen=KEPT)
        self._counts: Counter[TlsFault] = Counter()

    def keep(self, text: str, peer: SocketAddress | None = None, kind: TlsFault | None = None) -> None:
        """Keep a fault, and the peer that it came from; count it where it is of a `kind`."""
        self._kept.append(Fault(text, "" if peer is None else str(peer)))
        if kind is not None:
            self._counts[kind] += 1

    def count(self, kind: TlsFault) -> int:
        """Return how many of a kind there were."""
        return self._counts[kind]

    def take(self) -> Fault | None:
        """Return a fault that was not taken yet, the oldest first."""
        try:
            return self._kept.popleft()
        except IndexError:
            return None


def tls_fault(error: ssl.SSLError) -> TlsFault:
    """Return as what a failure is counted."""
    reason = error.reason or ""
    if isinstance(error, ssl.SSLCertVerificationError) or reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE":
        return TlsFault.CERTIFICATE
    if reason in _PROTOCOL_REASONS:
        return TlsFault.PROTOCOL
    # An alert is what the other end says of us.
    return TlsFault.REFUSED if "_ALERT_" in reason else TlsFault.OTHER


def tls_text(error: ssl.SSLError) -> str:
    """Return why TLS has failed, lower case."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the peer's certificate was not accepted: {error.verify_message.rstrip('.')}"
    if error.reason in _TEXTS:
        return _TEXTS[error.reason]
    return f"TLS has failed: {(error.reason or str(error)).lower().replace('_', ' ')}"
