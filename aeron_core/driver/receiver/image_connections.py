"""Connections of one image: one per receive destination of its subscription, or a single one without destinations.

A connection here is what the reference calls by that name: a path of datagrams from a sender, not a TCP connection.
The same stream may arrive over several paths. Status messages, NAKs and measurements go back on each live connection,
so that a sender behind any of them can repair a gap. A connection is known once a datagram arrived on it, and alive
until no datagram arrived for five seconds. Unlike in the reference, the only known connection gets answers for another
liveness timeout of the image once it sent data: there is no other sender to ask. Not for longer, because its address
may be forged. Also unlike in the reference, a connection follows its sender to another address, such as that of a NAT
whose mapping has changed: it sends its answers to the source of a SETUP if nothing arrived from its old address for
REBIND_NS. A sender that gets no answers repeats its SETUP, and an active one sends more often than that, so that a
forged SETUP cannot redirect its answers.
Invariant: only the receiver uses the private attributes; the conductor keeps each connection alive until the receiver
has confirmed the removal of the connection or of the image.
Source: aeron_publication_image.c (aeron_publication_image_track_connection and its callers).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import cython
from cython.cimports.cpython.ref import PyObject

from aeron_core._native import wire
from aeron_core._native.address import SocketAddress
from aeron_core._native.pointers import PointerList
from aeron_core.protocol.frames.error import ErrorFrame
from aeron_core.protocol.frames.nak import Nak
from aeron_core.protocol.frames.response_setup import ResponseSetup
from aeron_core.protocol.frames.rttm import Rttm
from aeron_core.protocol.frames.status_message import StatusMessage

if TYPE_CHECKING:
    from aeron_core.spi.endpoints import ReceiveChannelEndpoint


#: Time that a connection stays alive without a datagram. Source: AERON_RECEIVE_DESTINATION_TIMEOUT_NS.
CONNECTION_TIMEOUT_NS: Final = 5_000_000_000


#: Time without a datagram from a connection's address after which a SETUP from another address replaces that address.
#: Invented: ten intervals of heartbeats, and far below the timeout of the sender's publication.
REBIND_NS: Final = 1_000_000_000


class ImageConnection:
    """One path on which a stream arrives; created by the conductor, used by the receiver."""

    # All five are 0 or False in a new object of the compiled class.
    _is_known: bool
    _is_end_of_stream: bool
    _end_position: int
    _alive_until_ns: int
    _time_of_control_ns: int

    def __init__(
        self, endpoint: ReceiveChannelEndpoint, control: SocketAddress | None = None, now_ns: int = 0
    ) -> None:
        """Create a known connection that sends answers to `control`, or an unknown one if `control` is None."""
        self.endpoint = endpoint
        self._control = SocketAddress()
        self._timeout_ns = CONNECTION_TIMEOUT_NS
        self._rebind_ns = REBIND_NS
        if control is not None:
            self._control.assign(control)
            self._is_known = True
            self._alive_until_ns = now_ns + self._timeout_ns
            self._time_of_control_ns = now_ns

    def is_alive(self, now_ns: int) -> bool:
        """Return whether the connection is known, and its last datagram, or else its creation, is under 5 s ago."""
        return self._is_known and now_ns < self._alive_until_ns

    def send(self, frame_type: int, frame: object) -> int:
        """Send a borrowed frame of the class that belongs to `frame_type`, a `wire.TYPE_…`; return the bytes sent."""
        if frame_type == wire.TYPE_SM:
            return self.endpoint.send_status_message(cython.cast(StatusMessage, frame), self._control)
        if frame_type == wire.TYPE_NAK:
            return self.endpoint.send_nak(cython.cast(Nak, frame), self._control)
        if frame_type == wire.TYPE_RTTM:
            return self.endpoint.send_rttm(cython.cast(Rttm, frame), self._control)
        if frame_type == wire.TYPE_RSP_SETUP:
            return self.endpoint.send_response_setup(cython.cast(ResponseSetup, frame), self._control)
        return self.endpoint.send_error(cython.cast(ErrorFrame, frame), self._control)


class ImageConnections:
    """All paths on which one stream arrives; used by the receiver only."""

    _known_count: int  # zero in the compiled class

    def __init__(self, liveness_timeout_ns: int) -> None:
        """Create an empty list for an image with that timeout."""
        self._all = PointerList()
        self._liveness_timeout_ns = liveness_timeout_ns
        self._extension_ns = liveness_timeout_ns

    def append(self, connection: object) -> int:
        """Add a borrowed ImageConnection; return the number of connections."""
        # The connection of the SETUP is known from the start; any other is unknown until its first datagram.
        if cython.cast(ImageConnection, connection)._is_known:
            self._known_count += 1
        return self._all.append(connection)

    def remove(self, connection: object) -> bool:
        """Remove a connection; return whether it was there."""
        if not self._all.remove(connection):
            return False
        if cython.cast(ImageConnection, connection)._is_known:
            self._known_count -= 1
        return True

    def extend(self, is_extended: bool) -> int:
        """Set whether the only known connection gets answers for another liveness timeout of the image.

        The image sets it to false while it holds a permit of `AwaitedImages`. Returns 0.
        """
        self._extension_ns = self._liveness_timeout_ns if is_extended else 0
        return 0

    def _is_answered(self, connection: object, now_ns: int) -> bool:
        return cython.cast(ImageConnection, connection).is_alive(now_ns) or (
            self._known_count == 1
            and cython.cast(ImageConnection, connection).is_alive(now_ns - self._extension_ns)
        )

    def track(self, endpoint: ReceiveChannelEndpoint, source: SocketAddress, now_ns: int) -> int:
        """Record that a datagram from `source` arrived at `endpoint`; ignored without a connection there. Return 0."""
        # An image has one connection, or one per receive destination: a search is cheaper than a map.
        for i in range(self._all.size):
            item = self._all.at(i)
            if cython.cast(ImageConnection, item).endpoint is endpoint:
                # The source address is kept: later datagrams cannot redirect the answers, see `on_setup`.
                if not cython.cast(ImageConnection, item)._is_known:
                    cython.cast(ImageConnection, item)._control.assign(source)
                    cython.cast(ImageConnection, item)._is_known = True
                    self._known_count += 1
                cython.cast(ImageConnection, item)._alive_until_ns = (
                    now_ns + cython.cast(ImageConnection, item)._timeout_ns
                )
                if cython.cast(ImageConnection, item)._control.equals(source):
                    cython.cast(ImageConnection, item)._time_of_control_ns = now_ns
                break
        return 0

    def on_setup(self, endpoint: ReceiveChannelEndpoint, source: SocketAddress, now_ns: int) -> int:
        """Track a SETUP, and send the answers to its source if the known address of the connection is silent.

        Returns 0.
        """
        for i in range(self._all.size):
            item = self._all.at(i)
            if (
                cython.cast(ImageConnection, item).endpoint is endpoint
                and cython.cast(ImageConnection, item)._is_known
                and now_ns
                > cython.cast(ImageConnection, item)._time_of_control_ns
                + cython.cast(ImageConnection, item)._rebind_ns
            ):
                cython.cast(ImageConnection, item)._control.assign(source)
        return self.track(endpoint, source, now_ns)

    def end(self, endpoint: ReceiveChannelEndpoint, position: int) -> bool:
        """Record that the stream ends at `position` on `endpoint`; return whether all known connections have ended."""
        # A stream has ended only if it has on every path: one sender of several may stop before the others.
        is_end = True
        for i in range(self._all.size):
            item = self._all.at(i)
            if cython.cast(ImageConnection, item).endpoint is endpoint:
                cython.cast(ImageConnection, item)._is_end_of_stream = True
                cython.cast(ImageConnection, item)._end_position = position
            elif (
                cython.cast(ImageConnection, item)._is_known
                and not cython.cast(ImageConnection, item)._is_end_of_stream
            ):
                is_end = False
        return is_end

    def end_position(self) -> int:
        """Return the highest position at which the stream ended on any connection, 0 if it has on none."""
        position = 0
        for i in range(self._all.size):
            # The paths may have ended at different positions; what any of them sent is part of the stream.
            position = max(position, cython.cast(ImageConnection, self._all.at(i))._end_position)
        return position

    def count_alive(self, now_ns: int) -> int:
        """Return the number of connections that are alive, see `ImageConnection.is_alive`."""
        count = 0
        for i in range(self._all.size):
            if cython.cast(ImageConnection, self._all.at(i)).is_alive(now_ns):
                count += 1
        return count

    def send_status_message(self, sm: StatusMessage, now_ns: int) -> int:
        """Send a status message on each connection that gets answers; return how many were sent."""
        return self._send(wire.TYPE_SM, cython.cast(cython.pointer(PyObject), sm), now_ns)

    def send_nak(self, nak: Nak, now_ns: int) -> int:
        """Request a retransmission on each connection that gets answers; return how many NAKs were sent."""
        return self._send(wire.TYPE_NAK, cython.cast(cython.pointer(PyObject), nak), now_ns)

    def send_rttm(self, rttm: Rttm, now_ns: int) -> int:
        """Send an RTT measurement on each connection that gets answers; return how many were sent."""
        return self._send(wire.TYPE_RTTM, cython.cast(cython.pointer(PyObject), rttm), now_ns)

    def send_response_setup(self, setup: ResponseSetup, now_ns: int) -> int:
        """Announce a response stream on each connection that gets answers; return how many were sent."""
        return self._send(wire.TYPE_RSP_SETUP, cython.cast(cython.pointer(PyObject), setup), now_ns)

    def send_error(self, error: ErrorFrame, now_ns: int) -> int:
        """Reject the stream on each known connection, also on silent ones; return how many errors were sent."""
        return self._send(wire.TYPE_ERR, cython.cast(cython.pointer(PyObject), error), now_ns)

    def _send(self, frame_type: int, frame: object, now_ns: int) -> int:
        sent = 0
        for i in range(self._all.size):
            connection = self._all.at(i)
            if not cython.cast(ImageConnection, connection)._is_known:
                continue
            # Only errors also go to connections that are silent.
            if frame_type != wire.TYPE_ERR and not self._is_answered(connection, now_ns):
                continue
            # Send on every path: each may lead to another sender, with flow control and retransmissions of its own.
            if cython.cast(ImageConnection, connection).send(frame_type, frame) > 0:
                sent += 1
        return sent
