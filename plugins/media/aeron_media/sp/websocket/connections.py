"""WebSocket connections: SP over WebSocket on the wire, the TCP mapping of SP for the agent.

Not here: the protocol (`session`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aeron_core.errors import ConfigurationError
from aeron_media.connections.relay.faults import RelayFaults
from aeron_media.connections.relay.params import RelayParams
from aeron_media.connections.relay.relay_network import RelayNetwork
from aeron_media.connections.relay.session_stack import SessionStack

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress
    from aeron_media.connections.relay.session import Session
    from aeron_media.connections.tls.contexts import TlsContexts
    from aeron_media.sp.websocket.params import WsParams

#: Time for TCP, TLS and WebSocket to connect. Source: nng, which uses it for every transport of SP.
HANDSHAKE_TIMEOUT_NS: Final = 10_000_000_000
#: Maximum wait for the next bytes of an incomplete message. Invented: the default of message-timeout=.
MESSAGE_TIMEOUT_NS: Final = 30_000_000_000


class WsConnections(RelayNetwork):
    """Network of WebSocket connections; over TLS with `contexts`, and then only on the side for which it was created.

    Raises ConfigurationError if wsproto is not installed; the extra aeron-core[websocket] contains it.
    """

    def __init__(
        self,
        params: WsParams,
        contexts: TlsContexts | None = None,
        *,
        handshake_timeout_ns: int = HANDSHAKE_TIMEOUT_NS,
        message_timeout_ns: int = MESSAGE_TIMEOUT_NS,
    ) -> None:
        try:
            from aeron_media.sp.websocket.session import WsSession  # noqa: PLC0415 - it needs wsproto
        except ModuleNotFoundError as error:
            raise ConfigurationError(
                f"WebSocket needs {error.name}, which is not installed: pip install 'aeron-core[websocket]'"
            ) from error
        faults = RelayFaults()

        def relay(*, server_side: bool) -> RelayParams:
            def new_session(_: SocketAddress) -> Session:
                session = WsSession(params, server_side=server_side)
                return SessionStack(contexts.new_session(faults), session) if contexts else session

            name = "ws" if contexts is None else "wss"
            return RelayParams(
                name, new_session, faults, handshake_timeout_ns / 1e9, message_timeout_ns / 1e9
            )

        super().__init__(relay(server_side=True), relay(server_side=False))
