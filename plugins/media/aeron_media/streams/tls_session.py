"""One end of a TLS connection, without a socket: bytes of the wire in and out, plain bytes out and in.

Not here: whom to trust (`tls_contexts`), and who moves the bytes (`relayed_connection`).
Invariant: no method blocks or waits.
"""

from __future__ import annotations

import contextlib
import ssl


class TlsSession:
    """Use by one thread. Methods raise ssl.SSLError; an alert for the peer may be in `outgoing` even then."""

    def __init__(self, context: ssl.SSLContext, *, server_side: bool, server_name: str | None = None) -> None:
        self._incoming = ssl.MemoryBIO()
        #: What is to be sent.
        self.outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(
            self._incoming, self.outgoing, server_side=server_side, server_hostname=server_name
        )
        self._has_ended = False

    def feed(self, data: bytes) -> None:
        """Take what has come, empty where that was all."""
        if data:
            self._incoming.write(data)
        else:
            self._incoming.write_eof()

    def shake(self) -> bool:
        """Go on with the handshake; return whether it is done."""
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def read(self, length: int) -> bytes | None:
        """Return up to `length` bytes of the peer, none at its end, None where more must come first."""
        try:
            return self._tls.read(length)
        except ssl.SSLWantReadError:
            return None
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            # Many end without saying so, as Python does. What they have sent says by itself whether it is whole.
            return b""

    def write(self, data: bytes) -> None:
        """Encrypt all of `data`."""
        rest = memoryview(data)
        while rest:
            # A record at a time.
            rest = rest[self._tls.write(rest) :]

    def end(self) -> bool:
        """Say that no more will be written; return whether that could be done.

        It cannot while there is something to read: it would be lost.
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
