"""One end of a TLS connection. Not here: whom to trust (`contexts`)."""

from __future__ import annotations

import contextlib
import ssl
from typing import Final

from aeron_media.connections.relay.faults import FaultKind
from aeron_media.connections.relay.session import Session, SessionError

#: Bytes of answers that wait for a peer that does not read: more than any handshake has. Our own number.
MAX_UNREAD_LENGTH: Final = 1 << 18

# Reasons that say more in our words than in those of OpenSSL.
_TEXTS: Final = {
    "WRONG_VERSION_NUMBER": "the peer speaks no TLS",
    "HTTP_REQUEST": "the peer speaks HTTP",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the peer has sent no certificate, which client-auth=required asks for",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "the peer requires a certificate: cert= and key= name it",
    "TLSV1_ALERT_UNKNOWN_CA": "the peer does not know who has issued our certificate",
    "UNSUPPORTED_PROTOCOL": "the peer offers no TLS 1.2 or later",
}
_PROTOCOL_REASONS: Final = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNSUPPORTED_PROTOCOL"}


class TlsSession(Session):
    """See `Session`; where TLS fails, its alert is outgoing."""

    protocol = "TLS"

    def __init__(self, context: ssl.SSLContext, *, server_side: bool, server_name: str | None = None) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(
            self._incoming, self._outgoing, server_side=server_side, server_hostname=server_name
        )
        self._has_ended = False

    def feed(self, data: bytes) -> None:
        """See `Session.feed`."""
        if self._outgoing.pending > MAX_UNREAD_LENGTH:
            # What it asks for is answered by TLS itself, as new keys are, and nobody else would hold it back.
            raise SessionError("the peer asks TLS for more than it reads", FaultKind.PROTOCOL)
        if data:
            self._incoming.write(data)
        else:
            self._incoming.write_eof()

    def shake(self) -> bool:
        """See `Session.shake`."""
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLError as error:
            raise SessionError(_text(error), _kind(error)) from error
        return True

    def read(self, length: int) -> bytes | None:
        """See `Session.read`."""
        try:
            return self._tls.read(length)
        except ssl.SSLWantReadError:
            return None
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            # Many end without saying so, as Python does. What they have sent says by itself whether it is whole.
            return b""
        except ssl.SSLError as error:
            raise SessionError(_text(error), _kind(error)) from error

    def write(self, data: bytes) -> None:
        """See `Session.write`."""
        rest = memoryview(data)
        try:
            while rest:
                # A record at a time.
                rest = rest[self._tls.write(rest) :]
        except ssl.SSLError as error:
            raise SessionError(_text(error), _kind(error)) from error

    def end(self) -> bool:
        """See `Session.end`.

        It cannot be said while there is something to read: that would be lost.
        """
        if self._has_ended:
            return True
        if self._incoming.pending or self._tls.pending():
            return False
        self._has_ended = True
        # It is said, whatever is raised: the peer's answer, or an end without one, is seen by who reads on.
        with contextlib.suppress(ssl.SSLError):
            self._tls.unwrap()
        return True

    def take_outgoing(self) -> bytes:
        """See `Session.take_outgoing`."""
        return self._outgoing.read()


def _kind(error: ssl.SSLError) -> FaultKind:
    """Return as what a failure is counted."""
    reason = error.reason or ""
    if isinstance(error, ssl.SSLCertVerificationError) or reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE":
        return FaultKind.CERTIFICATE
    if reason in _PROTOCOL_REASONS:
        return FaultKind.PROTOCOL
    # An alert is what the other end says of us.
    return FaultKind.REFUSED if "_ALERT_" in reason else FaultKind.OTHER


def _text(error: ssl.SSLError) -> str:
    """Return why TLS has failed, lower case."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the peer's certificate was not accepted: {error.verify_message.rstrip('.')}"
    if error.reason in _TEXTS:
        return _TEXTS[error.reason]
    return f"TLS has failed: {(error.reason or str(error)).lower().replace('_', ' ')}"
