"""TLS session: one end of a TLS connection. Not here: certificates and trust (`contexts`)."""

from __future__ import annotations

import contextlib
import ssl
from typing import Final

from aeron_media.connections.relay.faults import FaultKind
from aeron_media.connections.relay.session import Session, SessionError

#: Bytes of replies that may wait for a peer that does not read: more than any handshake. Invented.
MAX_UNREAD_LENGTH: Final = 1 << 18

# Texts for the usual reasons of OpenSSL. Others share a text: peers choose the reasons, above all those of alerts, and
# each text is an entry of the error log.
_TEXTS: Final = {
    "WRONG_VERSION_NUMBER": "the peer does not speak TLS: use TLS at both ends, or at none",
    "HTTP_REQUEST": "the peer speaks HTTP without TLS: use TLS at both ends, or at none",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the peer sent no certificate, but client-auth=required, the default with "
    "ca=: give the peer a certificate, or set client-auth=optional",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "the peer requires a certificate: set cert= and key=",
    "TLSV1_ALERT_UNKNOWN_CA": "the peer does not trust the issuer of the certificate in cert=: add the issuer to the "
    "authorities of the peer",
    "UNSUPPORTED_PROTOCOL": "the peer offers no TLS 1.2 or later: enable one of these versions at the peer",
    "NO_SHARED_CIPHER": "the peer offers no cipher that this end has: enable a common one at the peer",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "the peer shares no version or cipher with this end, or requires a certificate: "
    "enable a common version and cipher at the peer, or set cert= and key=",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "the peer rejected the certificate in cert= as expired: renew it",
    "SSLV3_ALERT_BAD_CERTIFICATE": "the peer rejected the certificate in cert= as bad: check it, and the log of the "
    "peer",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "the peer rejected the certificate in cert=: check it, and the log of the peer",
    "TLSV1_ALERT_PROTOCOL_VERSION": "the peer does not accept the TLS versions of this end: enable TLS 1.2 or later at "
    "the peer",
}
_ALERT: Final = "the peer ended TLS with an alert, which the event log has: check the log of the peer"
_OTHER: Final = "TLS failed, for a reason that the event log has: check the TLS configuration of both ends"
# The usual results of X509_verify_cert, whose messages are constants of OpenSSL, or contain the name in endpoint=.
_VERIFY_CODES: Final = {
    9,  # not yet valid
    10,  # expired
    18,  # self-signed
    19,  # self-signed authority in the chain
    20,  # unknown issuer
    21,  # no chain to verify
    23,  # revoked
    26,  # wrong purpose
    62,  # wrong host name
    64,  # wrong IP address
}
_PROTOCOL_REASONS: Final = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNSUPPORTED_PROTOCOL"}


class TlsSession(Session):
    """TLS session, see `Session`; if TLS fails, `take_outgoing` returns the alert for the peer, if any."""

    protocol = "TLS"

    def __init__(self, context: ssl.SSLContext, *, server_side: bool, server_name: str | None = None) -> None:
        # Memory instead of a socket: the relay thread reads and writes the wire itself, without blocking.
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(
            self._incoming, self._outgoing, server_side=server_side, server_hostname=server_name
        )
        self._has_ended = False

    def feed(self, data: bytes) -> None:
        """See `Session.feed`."""
        if self._outgoing.pending > MAX_UNREAD_LENGTH:
            # TLS itself answers requests such as key updates, without back pressure: a peer could fill the memory.
            raise SessionError(
                "the peer sends TLS requests without reading the replies: more than "
                f"{MAX_UNREAD_LENGTH} bytes of replies wait, so the connection is closed: check the peer",
                FaultKind.PROTOCOL,
            )
        if data:
            self._incoming.write(data)
        else:
            # Without the end of file, a truncated stream would look like one that waits for more bytes.
            self._incoming.write_eof()

    def do_handshake(self) -> bool:
        """See `Session.do_handshake`."""
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLError as error:
            raise _fault(error) from error
        return True

    def read(self, length: int) -> bytes | None:
        """See `Session.read`."""
        try:
            return self._tls.read(length)
        except ssl.SSLWantReadError:
            return None
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            # Many peers, such as Python's `ssl`, close without close_notify. The protocol above detects truncation.
            return b""
        except ssl.SSLError as error:
            raise _fault(error) from error

    def write(self, data: bytes) -> None:
        """See `Session.write`."""
        # The outgoing memory grows as needed, so a write never has to wait; the caller limits `data`.
        rest = memoryview(data)
        try:
            while rest:
                # A call may take only part of the bytes.
                rest = rest[self._tls.write(rest) :]
        except ssl.SSLError as error:
            raise _fault(error) from error

    def end(self) -> bool:
        """See `Session.end`.

        Return False while there are unread bytes: `unwrap` would discard them.
        """
        if self._has_ended:
            return True
        if self._incoming.pending or self._tls.pending():
            return False
        self._has_ended = True
        # `unwrap` raises unless the peer has answered, but close_notify is sent in any case.
        with contextlib.suppress(ssl.SSLError):
            self._tls.unwrap()
        return True

    def take_outgoing(self) -> bytes:
        """See `Session.take_outgoing`."""
        return self._outgoing.read()


def _kind(error: ssl.SSLError) -> FaultKind:
    """Return the category in which a failure is counted."""
    reason = error.reason or ""
    if isinstance(error, ssl.SSLCertVerificationError) or reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE":
        return FaultKind.CERTIFICATE
    if reason in _PROTOCOL_REASONS:
        return FaultKind.PROTOCOL
    # An alert in the reason was sent by the peer, which refused this end.
    return FaultKind.REFUSED if "_ALERT_" in reason else FaultKind.OTHER


def _fault(error: ssl.SSLError) -> SessionError:
    """Return the error of a session for a TLS failure."""
    kind = _kind(error)
    if isinstance(error, ssl.SSLCertVerificationError):
        cause = error.verify_message.rstrip(".")
        text = (
            "the certificate of the peer was rejected{}: check ca=, and the name and dates in the certificate"
        )
        if error.verify_code in _VERIFY_CODES:
            return SessionError(text.format(f": {cause}"), kind)
        return SessionError(text.format(", for a reason that the event log has"), kind, cause)
    reason = error.reason or str(error)
    if reason in _TEXTS:
        return SessionError(_TEXTS[reason], kind)
    return SessionError(_ALERT if "_ALERT_" in reason else _OTHER, kind, reason.lower().replace("_", " "))
