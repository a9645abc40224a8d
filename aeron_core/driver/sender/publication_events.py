"""Events that a publication reports to the conductor.

Invariant: peers cannot flood the conductor. In SETUP_INTERVAL_NS at most one event about responses and ERRORS errors
of receivers are sent; the publication reports refused receivers once until one of its receivers times out. If the ring
is full, the event is counted and dropped: receivers repeat their RSP_SETUP and ERR frames.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython
from cython.cimports.cpython.ref import PyObject

from aeron_core._native import wire
from aeron_core._native.commands import Command
from aeron_core.driver._native import operations
from aeron_core.driver.agents.rate_limit import RateLimit

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress
    from aeron_core.driver.sender.publication_params import NetworkPublicationParams
    from aeron_core.protocol.frames.error import ErrorFrame
    from aeron_core.spi.endpoints import SendStream


# Maximum number of errors that are reported per SETUP_INTERVAL_NS, our choice. If a thousand receivers reject at once,
# all are reported within the seconds in which they repeat their errors. The broadcast buffer to the clients holds more
# than a second of such events.
ERRORS = 64


class PublicationEvents:
    """Events of one publication; used by the sender only. All methods but `error` return 0."""

    def __init__(self, params: NetworkPublicationParams) -> None:
        self._conductor = params.conductor
        self._fails = params.system_counters.conductor_proxy_fails
        self._event = Command()
        self._response_deadline_ns = params.now_ns
        self._errors = RateLimit(ERRORS, wire.SETUP_INTERVAL_NS)

    def response_connected(self, publication: SendStream, now_ns: int) -> int:
        """Report that a publication of responses has its receiver, so that it need not be announced any more.

        The timer of the conductor would detect this too, but later.
        """
        # A receiver that times out because its status messages are lost connects again: limit the events.
        if not self._is_response_due(now_ns):
            return 0
        self._event.begin(operations.RESPONSE_CONNECTED, cython.cast(cython.pointer(PyObject), publication))
        return self._offer()

    def response_setup(self, publication: SendStream, response_session_id: int, now_ns: int) -> int:
        """Report the session of the responses; receivers repeat it with each periodic status message."""
        if not self._is_response_due(now_ns):
            return 0
        self._event.begin(operations.RESPONSE_SETUP, cython.cast(cython.pointer(PyObject), publication))
        self._event.set_number(0, response_session_id)
        return self._offer()

    def _is_response_due(self, now_ns: int) -> bool:
        if now_ns < self._response_deadline_ns:
            return False
        self._response_deadline_ns = now_ns + wire.SETUP_INTERVAL_NS
        return True

    def receivers_refused(self, publication: SendStream) -> int:
        """Report that the stream ignores new receivers, because MAX_TRACKED_RECEIVERS are tracked."""
        self._event.begin(operations.RECEIVERS_REFUSED, cython.cast(cython.pointer(PyObject), publication))
        return self._offer()

    def error(
        self,
        publication: SendStream,
        error: ErrorFrame,
        destination_registration_id: int,
        source: SocketAddress,
        now_ns: int,
    ) -> bool:
        """Report the error of a receiver; return False if too many were reported or the ring is full, else True."""
        if not self._errors.take(now_ns):
            return False
        self._event.begin(operations.PUBLICATION_ERROR, cython.cast(cython.pointer(PyObject), publication))
        self._event.set_number(0, error.error_code)
        # 0 is a valid group tag, so its presence is a number of its own.
        self._event.set_number(1, 1 if error.flags & wire.ERR_FLAG_HAS_GROUP_TAG else 0)
        self._event.set_value(0, error.receiver_id)
        self._event.set_value(1, error.group_tag)
        self._event.set_value(2, destination_registration_id)
        # Copied into the ring: the frame is valid during the call only.
        self._event.set_text(error._text, 0, error.text_length)
        self._event.source.assign(source)
        return self._is_offered()

    def _offer(self) -> int:
        self._is_offered()
        return 0

    def _is_offered(self) -> bool:
        if self._conductor.offer(self._event):
            return True
        self._fails.get_and_add(1)
        return False
