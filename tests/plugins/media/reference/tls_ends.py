"""TLS listeners and connections on loopback, and clients of Python's `ssl`."""

from __future__ import annotations

import socket
from types import MappingProxyType

from aeron_media.connections.tls.connections import TlsConnections
from aeron_media.connections.tls.contexts import TlsContexts
from aeron_media.connections.tls.parameters import TlsParameters
from relayed_ends import RelayedEnds


class Endpoints(RelayedEnds):
    """TLS listeners and connections."""

    def listen(self, limits=MappingProxyType({}), **params):
        network = TlsConnections(TlsContexts(parameters(**params), server_side=True), **limits)
        return network, self.listen_on(network)

    def caller(self, server_name="127.0.0.1", **params):
        contexts = TlsContexts(parameters(**params), server_side=False, server_name=server_name)
        network = TlsConnections(contexts)
        return network, self.caller_of(network)


def parameters(**params):
    return TlsParameters(tls="true", **params)


def identity(pair):
    return {"cert": pair[0], "key": pair[1]}


def dial(listener, context, name="127.0.0.1"):
    """Connect with Python's `ssl`; return once its side of the handshake is complete."""
    return context.wrap_socket(
        socket.create_connection(listener.local_address().as_tuple(), timeout=10),
        server_hostname=name,
        suppress_ragged_eofs=False,
    )
