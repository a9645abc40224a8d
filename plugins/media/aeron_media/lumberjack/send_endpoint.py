"""Sends to a reader: each stream has a connection of its own, so that its events stay in order.

Not here: what a connection does (`writer_connection`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython
from cython.cimports.cpython.ref import PyObject

from aeron_core.spi.endpoints import Fault, SendChannelEndpoint, SendStream
from aeron_media.lumberjack.end_slot import EndSlot
from aeron_media.lumberjack.writer_connection import WriterConnection

if TYPE_CHECKING:
    from collections.abc import Callable

    from aeron_core._native.streams import ByteStream
    from aeron_media.lumberjack.writer_params import WriterParams
    from aeron_media.streams.tls_streams import TlsStreams


class LumberjackSendEndpoint(SendChannelEndpoint):
    """The sending end of a channel; used by the sender's thread, but for what `ChannelEndpoint` promises."""

    def __init__(
        self, writer: WriterParams, new_stream: Callable[[], ByteStream], tls: TlsStreams | None = None
    ) -> None:
        self._writer = writer
        self._new_stream = new_stream
        self._ends: EndSlot = writer.ends
        self._tls = tls

    def take_fault(self) -> Fault | None:
        """See `ChannelEndpoint.take_fault`."""
        # What TLS says comes first: the connection knows no more than that it is broken.
        return (self._tls.take_fault() if self._tls else None) or self._ends.take()

    def close(self) -> None:
        """See `ChannelEndpoint.close`."""
        if self._tls:
            self._tls.close()

    def new_stream_state(self) -> WriterConnection:
        """See `SendChannelEndpoint.new_stream_state`: a connection, which is made once the sender has the stream."""
        return WriterConnection(self._writer, self._new_stream())

    def advance(self, stream: SendStream, position: int, now_ns: int) -> int:
        """See `SendChannelEndpoint.advance`."""
        connection = cython.cast(cython.pointer(PyObject), stream.medium_state)
        answer: int = cython.cast(WriterConnection, connection).advance(stream.log, position, now_ns)
        return answer

    def has_peer(self, stream: SendStream) -> bool:
        """See `SendChannelEndpoint.has_peer`."""
        connection = cython.cast(cython.pointer(PyObject), stream.medium_state)
        answer: bool = cython.cast(WriterConnection, connection).has_peer()
        return answer

    def remove_stream(self, stream: SendStream) -> int:
        """See `SendChannelEndpoint.remove_stream`."""
        connection = cython.cast(cython.pointer(PyObject), stream.medium_state)
        answer: int = cython.cast(WriterConnection, connection).close()
        return answer
