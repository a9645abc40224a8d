"""Frames of a stream that are not in its log: SETUP, heartbeat and RTTM.

Each call encodes one frame into `buffer` and returns its length; the next call overwrites it. Heartbeats of several
streams to the same place are sent with one call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import cython
from cython.cimports.cpython.ref import PyObject

from aeron_core._native import positions, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.datagrams import SendBatch
from aeron_core.driver.sender.sending_publication import SendingPublication
from aeron_core.protocol.frames.data import DataHeader
from aeron_core.protocol.frames.rttm import Rttm
from aeron_core.protocol.frames.setup import Setup

if TYPE_CHECKING:
    from aeron_core._native.counter import AtomicCounter
    from aeron_core.driver.sender.publication_params import NetworkPublicationParams

_BUFFER_LENGTH: Final = 64  # the longest frames, RTTM and SETUP, have 40 bytes


class ControlFrames:
    """Encoder of the frames of one publication, at the start of `buffer`; used by the sender only."""

    def __init__(self, params: NetworkPublicationParams) -> None:
        self.buffer = AtomicBuffer.allocate(_BUFFER_LENGTH)
        self._position_bits_to_shift = params.log.position_bits_to_shift
        self._initial_term_id = params.log.initial_term_id
        self.setup = Setup()
        self.setup.initial_term_id = params.log.initial_term_id
        self.setup.term_length = params.log.term_length
        self.setup.mtu = params.mtu
        self.setup.ttl = params.ttl
        # With the flag, receivers treat the stream as one of a group, unless their channel sets `group`: they wait for
        # random times before they send NAKs.
        self.setup.flags = wire.SETUP_FLAG_GROUP if params.is_group else 0
        if params.requests_response:
            self.setup.flags |= wire.SETUP_FLAG_SEND_RESPONSE
        self._heartbeat = DataHeader()
        # The frame length of a heartbeat stays 0; a message without payload, in contrast, has a frame of 32 bytes.
        self._heartbeat.frame_type = wire.TYPE_DATA
        self._rttm = Rttm()
        for frame in (self.setup, self._heartbeat, self._rttm):
            frame.session_id = params.session_id
            frame.stream_id = params.stream_id

    def encode_setup(self, position: int) -> int:
        """Encode a SETUP for a receiver that joins at `position`; return its length."""
        # Frames carry no positions: a receiver computes one from the initial term id, the active one and the offset.
        self.setup.active_term_id = positions.compute_term_id(
            position, self._position_bits_to_shift, self._initial_term_id
        )
        self.setup.term_offset = positions.compute_term_offset(position, self._position_bits_to_shift)
        return self.setup.encode(self.buffer, 0)

    def encode_heartbeat(self, position: int, flags: int) -> int:
        """Encode a data frame without payload at `position`, with `wire.DATA_FLAG…` in `flags`; return its length."""
        self._heartbeat.flags = flags
        self._heartbeat.term_id = positions.compute_term_id(
            position, self._position_bits_to_shift, self._initial_term_id
        )
        self._heartbeat.term_offset = positions.compute_term_offset(position, self._position_bits_to_shift)
        self._heartbeat.encode(self.buffer, 0)
        return wire.DATA_HEADER_LENGTH

    def encode_rttm(self, echo_timestamp: int, receiver_id: int, flags: int) -> int:
        """Encode an RTTM; return its length. `flags` is `wire.RTTM_FLAG_REPLY` if it needs a reply, else 0.

        `echo_timestamp`: what the receiver sent if this is the reply, epoch nanoseconds for all receivers (id 0), or
        the secret number of a request for a proof.
        """
        self._rttm.flags = flags
        self._rttm.echo_timestamp = echo_timestamp
        self._rttm.receiver_id = receiver_id
        return self._rttm.encode(self.buffer, 0)


class HeartbeatBunch:
    """Heartbeats that streams of one endpoint send in the same duty cycle; used by the sender only.

    They are equally long, so that the kernel cuts them from one buffer (GSO), and a receiver gets them with one call.
    """

    _count: int  # 0 in a new object of the compiled class
    _stream: object

    def __init__(self, short_sends: AtomicCounter) -> None:
        self._short_sends = short_sends
        self._buffer = AtomicBuffer.allocate(wire.MAX_GSO_SEGMENTS * wire.DATA_HEADER_LENGTH)
        self._batch = SendBatch()

    def add(self, stream: SendingPublication, frames: ControlFrames) -> int:
        """Add the heartbeat that was encoded last; `flush` sends it in the same duty cycle. Return 0."""
        if self._count == wire.MAX_GSO_SEGMENTS or (
            self._count > 0 and cython.cast(SendingPublication, self._stream).endpoint is not stream.endpoint
        ):
            self.flush()
        self._stream = cython.cast(cython.pointer(PyObject), stream)
        self._buffer.copy_from(
            self._count * wire.DATA_HEADER_LENGTH, frames.buffer, 0, wire.DATA_HEADER_LENGTH
        )
        self._count += 1
        return 0

    def flush(self) -> int:
        """Send what was added; return 0."""
        length = self._count * wire.DATA_HEADER_LENGTH
        if length == 0:
            return 0
        # Emptied first: if the endpoint raises, it is not called with the same heartbeats again.
        self._count = 0
        self._batch.clear()
        self._batch.add(self._buffer, 0, length, wire.DATA_HEADER_LENGTH)
        taken = cython.cast(SendingPublication, self._stream).endpoint.send(
            cython.cast(SendingPublication, self._stream), self._batch
        )
        if self._batch.length_of_first(taken) < length:
            self._short_sends.get_and_add(1)
        return 0
