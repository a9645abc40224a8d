"""TLS connections: encrypted on the wire, plain for the agent. Not here: the protocol of one connection (`session`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aeron_media.connections.relay.faults import FaultKind, RelayFaults
from aeron_media.connections.relay.params import RelayParams
from aeron_media.connections.relay.relay_network import RelayNetwork

if TYPE_CHECKING:
    from aeron_media.connections.tls.contexts import TlsContexts

#: Time for TCP and TLS to connect, unless a key of the URI sets it. Invented: the same as nng's for SP.
HANDSHAKE_TIMEOUT_NS: Final = 10_000_000_000


class TlsConnections(RelayNetwork):
    """Network of TLS connections; it can listen or connect, depending on the side for which `contexts` was created.

    TCP and TLS must connect within `handshake_timeout_ns`.
    """

    def __init__(self, contexts: TlsContexts, *, handshake_timeout_ns: int = HANDSHAKE_TIMEOUT_NS) -> None:
        # The lambda uses the local name: the parameters must not refer to this object, see `RelayNetwork`.
        self._faults = faults = RelayFaults()
        params = RelayParams(
            "tls",
            lambda _: contexts.new_session(faults),
            faults,
            handshake_limit_s=handshake_timeout_ns / 1e9,
        )
        super().__init__(params, params)

    def refused(self, kind: FaultKind) -> int:
        """Return how many connections failed for the reason `kind` since this object was created."""
        return self._faults.count(kind)
