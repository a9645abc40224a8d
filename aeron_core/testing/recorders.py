"""Substitutes for the driver's side of a medium that record the calls of an endpoint."""

from __future__ import annotations

from typing import NamedTuple

import cython

from aeron_core._native.address import SocketAddress
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.protocol.frames.error import ErrorFrame
from aeron_core.protocol.frames.header import Frame
from aeron_core.protocol.frames.nak import Nak
from aeron_core.protocol.frames.response_setup import ResponseSetup
from aeron_core.protocol.frames.rttm import Rttm
from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.spi.endpoints import ReceiveChannelEndpoint, ReceiveDispatcher, SendStream


class Call(NamedTuple):
    """One call of an endpoint: the method name without `on_`; copies of the frame's fields or of the data."""

    kind: str
    fields: dict[str, int]
    source: SocketAddress
    now_ns: int
    data: bytes = b""


class RecordingSendStream(SendStream):
    """A stream that records the frames it receives in `calls`; raises `failure` after that if it is set."""

    calls: list[Call]
    failure: BaseException | None

    def __init__(self, session_id: int, stream_id: int) -> None:
        self.session_id = session_id
        self.stream_id = stream_id
        self.calls = []
        self.failure = None

    def on_status_message(self, sm: StatusMessage, source: SocketAddress, now_ns: int) -> int:
        """See `SendStream.on_status_message`."""
        with cython.gil:
            return self._record("status_message", sm, source, now_ns)

    def on_nak(self, nak: Nak, source: SocketAddress, now_ns: int) -> int:
        """See `SendStream.on_nak`."""
        with cython.gil:
            return self._record("nak", nak, source, now_ns)

    def on_error(
        self, error: ErrorFrame, destination_registration_id: int, source: SocketAddress, now_ns: int
    ) -> int:
        """See `SendStream.on_error`."""
        with cython.gil:
            return self._record("error", error, source, now_ns)

    def on_rttm(self, rttm: Rttm, source: SocketAddress, now_ns: int) -> int:
        """See `SendStream.on_rttm`."""
        with cython.gil:
            return self._record("rttm", rttm, source, now_ns)

    def on_response_setup(self, setup: ResponseSetup, source: SocketAddress, now_ns: int) -> int:
        """See `SendStream.on_response_setup`."""
        with cython.gil:
            return self._record("response_setup", setup, source, now_ns)

    def _record(self, kind: str, frame: Frame, source: SocketAddress, now_ns: int) -> int:
        self.calls.append(Call(kind, frame.fields(), source.copy(), now_ns))
        if self.failure is not None:
            raise self.failure
        return 0


class RecordingDispatcher(ReceiveDispatcher):
    """A dispatcher without images that records frames in `calls`; raises `failure` after that if it is set."""

    calls: list[Call]
    failure: BaseException | None

    def __init__(self) -> None:
        self.calls = []
        self.failure = None

    def on_data(
        self,
        endpoint: ReceiveChannelEndpoint,
        buffer: AtomicBuffer,
        offset: int,
        length: int,
        source: SocketAddress,
        now_ns: int,
    ) -> int:
        """Record a copy of the datagram and return its length, as if an image had accepted it."""
        with cython.gil:
            return self._record("data", None, source, now_ns, buffer.get_bytes(offset, length))

    def on_setup(
        self, endpoint: ReceiveChannelEndpoint, setup: Setup, source: SocketAddress, now_ns: int
    ) -> int:
        """See `ReceiveDispatcher.on_setup`."""
        with cython.gil:
            return self._record("setup", setup, source, now_ns, b"")

    def on_rttm(
        self, endpoint: ReceiveChannelEndpoint, rttm: Rttm, source: SocketAddress, now_ns: int
    ) -> int:
        """See `ReceiveDispatcher.on_rttm`."""
        with cython.gil:
            return self._record("rttm", rttm, source, now_ns, b"")

    def _record(self, kind: str, frame: Frame | None, source: SocketAddress, now_ns: int, data: bytes) -> int:
        fields = {} if frame is None else frame.fields()
        self.calls.append(Call(kind, fields, source.copy(), now_ns, data))
        if self.failure is not None:
            raise self.failure
        return len(data)
