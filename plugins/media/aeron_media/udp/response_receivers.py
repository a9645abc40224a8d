"""The receivers of a response channel: the destination of each stream of responses.

A stream is sent to the receiver that requested its SETUP last. Unlike in the reference, a request is ignored
while another receiver still sends status messages for the stream. Used by the sender's thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import cython
from cython.cimports.aeron_core._native.pointers import pair_key
from cython.cimports.cpython.ref import PyObject

from aeron_core._native import wire
from aeron_core._native.pointers import PointerMap

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress
    from aeron_core.protocol.frames.status_message import StatusMessage

#: How long a receiver may be silent before another one can replace it.
#: Source: AERON_SEND_CHANNEL_ENDPOINT_DESTINATION_TIMEOUT_NS, which the reference does not use for this.
RESPONSE_RECEIVER_TIMEOUT_NS: Final = 5_000_000_000


class ResponseReceiver:
    """The receiver of one stream of responses; until `receives_until_ns` no other receiver can replace it."""

    def __init__(self, address: SocketAddress) -> None:
        self.address = address
        self.receives_until_ns = 0


class ResponseReceivers:
    """All receivers of one endpoint, by stream id and session id (`pair_key`)."""

    _by_key: dict[int, ResponseReceiver]

    def __init__(self) -> None:
        self._receivers = PointerMap()
        self._by_key = {}
        self._timeout_ns = RESPONSE_RECEIVER_TIMEOUT_NS

    def find(self, key: int, into: SocketAddress) -> bool:
        """Copy the address of the receiver of the stream `key` to `into`; return whether it is known."""
        found = self._receivers.get(key)
        if found == cython.NULL:
            return False
        into.assign(cython.cast(ResponseReceiver, found).address)
        return True

    def on_status_message(self, sm: StatusMessage, source: SocketAddress, now_ns: int) -> int:
        """Record that a receiver requests a stream (SEND_SETUP), is alive, or has ended (EOS); return 0."""
        key = pair_key(sm.stream_id, sm.session_id)
        found = self._receivers.get(key)
        if not sm.flags & wire.SM_FLAG_SEND_SETUP:
            if found != cython.NULL and cython.cast(ResponseReceiver, found).address.equals(source):
                is_end = sm.flags & wire.SM_FLAG_EOS
                cython.cast(ResponseReceiver, found).receives_until_ns = (
                    0 if is_end else now_ns + self._timeout_ns
                )
            return 0
        if found == cython.NULL:
            return self._add(key, source)
        if now_ns >= cython.cast(ResponseReceiver, found).receives_until_ns:
            cython.cast(ResponseReceiver, found).address.assign(source)
        return 0

    def _add(self, key: int, source: SocketAddress) -> int:
        with cython.gil:
            receiver = ResponseReceiver(source.copy())
            self._by_key[key] = receiver
            return self._receivers.put(key, cython.cast(cython.pointer(PyObject), receiver))

    def remove(self, key: int) -> int:
        """Forget the receiver of a stream; return 0."""
        self._receivers.remove(key)
        with cython.gil:
            self._by_key.pop(key, None)
        return 0
