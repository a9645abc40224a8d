"""Probes that call the C methods of plugin objects, as the driver's agents do.

A probe has methods of its object under the same names, and passes exceptions on. `send_batch` and `poll` of endpoints
and `idle` run without the GIL, as in the driver, so that two threads can measure them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import cython

from aeron_core._native.address import SocketAddress
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.datagrams import DatagramChannel, ReceiveBatch, SendBatch
from aeron_core.protocol.frames.error import ErrorFrame
from aeron_core.protocol.frames.nak import Nak
from aeron_core.protocol.frames.response_setup import ResponseSetup
from aeron_core.protocol.frames.rttm import Rttm
from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.spi.congestion_control import CongestionControl, RebuildState
from aeron_core.spi.endpoints import ReceiveChannelEndpoint, SendChannelEndpoint, SendStream
from aeron_core.spi.flow_control import FlowControl
from aeron_core.spi.idle_strategy import IdleStrategy

Run = tuple[bytes, int]
"""Contiguous datagrams, and the length of each one but the last."""


class Taken(NamedTuple):
    """Part of a batch that was accepted."""

    entries: int
    length: int  # bytes


class Slot(NamedTuple):
    """Content of one slot of a receive call: one datagram, or several that the kernel coalesced."""

    datagrams: list[bytes]
    source: SocketAddress


class RunBatch:
    """A batch with copies of runs, which can be sent repeatedly; IndexError for more than `BATCH_CAPACITY` runs."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._buffer = AtomicBuffer(b"".join(data for data, _ in runs))
        self._batch = SendBatch()
        offset = 0
        for data, segment_length in runs:
            self._batch.add(self._buffer, offset, len(data), segment_length)
            offset += len(data)

    def length_of_first(self, count: int) -> int:
        """Return the bytes of the first `count` entries, of which the last may have been accepted in part."""
        return self._batch.length_of_first(count)


class DatagramProbe:
    """Probe of a datagram channel: sends batches, and receives up to `slots` slots a call."""

    channel: DatagramChannel

    def __init__(self, channel: DatagramChannel, slots: int = 4) -> None:
        self.channel = channel
        self._received = ReceiveBatch(slots)

    def send(self, runs: Sequence[Run], destination: SocketAddress) -> Taken:
        """Send `runs` as one batch; return the part that was accepted."""
        made = RunBatch(runs)
        entries = self._send(made, destination)
        return Taken(entries, made.length_of_first(entries))

    def _send(self, made: RunBatch, destination: SocketAddress) -> int:
        return self.channel.send(made._batch, destination)

    def receive(self) -> list[Slot]:
        """Return the slots of one receive call, an empty list if nothing has arrived."""
        count = self.channel.receive(self._received)
        return [self._slot(index) for index in range(count)]

    def _slot(self, index: int) -> Slot:
        source = SocketAddress()
        self._received.copy_source(index, source)
        length = self._received.length_of(index)
        data = self._received.buffer.get_bytes(self._received.offset_of(index), length)
        step = max(self._received.segment_length_of(index), 1)
        return Slot([data[at : at + step] for at in range(0, length, step)] or [b""], source)


class SendEndpointProbe:
    """Probe of a send endpoint, called as the sender calls it."""

    endpoint: SendChannelEndpoint

    def __init__(self, endpoint: SendChannelEndpoint) -> None:
        self.endpoint = endpoint

    def add_stream(self, stream: SendStream) -> None:
        """See `SendChannelEndpoint.add_stream`; the caller keeps the stream alive."""
        self.endpoint.add_stream(stream)

    def remove_stream(self, stream: SendStream) -> None:
        """See `SendChannelEndpoint.remove_stream`."""
        self.endpoint.remove_stream(stream)

    def send(self, stream: SendStream, runs: Sequence[Run]) -> Taken:
        """Send `runs` as one batch; return the part that was accepted."""
        return self.send_batch(stream, RunBatch(runs))

    def send_batch(self, stream: SendStream, made: RunBatch) -> Taken:
        """Send an existing batch; return the part that was accepted."""
        entries = self._send(stream, made)
        return Taken(entries, made.length_of_first(entries))

    def poll(self, now_ns: int = 0) -> int:
        """See `SendChannelEndpoint.poll`."""
        return self._poll(now_ns)

    def _send(self, stream: SendStream, made: RunBatch) -> int:
        with cython.nogil:
            return self.endpoint.send(stream, made._batch)

    def _poll(self, now_ns: int) -> int:
        with cython.nogil:
            return self.endpoint.poll(now_ns)


class ReceiveEndpointProbe:
    """Probe of a receive endpoint, called as the receiver calls it."""

    endpoint: ReceiveChannelEndpoint

    def __init__(self, endpoint: ReceiveChannelEndpoint) -> None:
        self.endpoint = endpoint

    def poll(self, now_ns: int = 0) -> int:
        """See `ReceiveChannelEndpoint.poll`."""
        return self._poll(now_ns)

    def _poll(self, now_ns: int) -> int:
        with cython.nogil:
            return self.endpoint.poll(now_ns)

    def send_status_message(self, sm: StatusMessage, control: SocketAddress) -> int:
        """See `ReceiveChannelEndpoint.send_status_message`."""
        return self.endpoint.send_status_message(sm, control)

    def send_nak(self, nak: Nak, control: SocketAddress) -> int:
        """See `ReceiveChannelEndpoint.send_nak`."""
        return self.endpoint.send_nak(nak, control)

    def send_rttm(self, rttm: Rttm, control: SocketAddress) -> int:
        """See `ReceiveChannelEndpoint.send_rttm`."""
        return self.endpoint.send_rttm(rttm, control)

    def send_error(self, error: ErrorFrame, control: SocketAddress) -> int:
        """See `ReceiveChannelEndpoint.send_error`."""
        return self.endpoint.send_error(error, control)

    def send_response_setup(self, setup: ResponseSetup, control: SocketAddress) -> int:
        """See `ReceiveChannelEndpoint.send_response_setup`."""
        return self.endpoint.send_response_setup(setup, control)


class FlowControlProbe:
    """Probe of a flow control, called as a publication calls it."""

    strategy: FlowControl

    def __init__(self, strategy: FlowControl) -> None:
        self.strategy = strategy

    def on_status_message(self, sm: StatusMessage, position: int, limit: int, now_ns: int) -> int:
        """See `FlowControl.on_status_message`."""
        return self.strategy.on_status_message(sm, position, limit, now_ns)

    def on_setup(self, setup: Setup, limit: int, now_ns: int) -> int:
        """See `FlowControl.on_setup`."""
        return self.strategy.on_setup(setup, limit, now_ns)

    def on_setup_elicited(self, sm: StatusMessage, now_ns: int) -> int:
        """See `FlowControl.on_setup_elicited`."""
        return self.strategy.on_setup_elicited(sm, now_ns)

    def on_idle(self, limit: int, sender_position: int, is_end_of_stream: bool, now_ns: int) -> int:
        """See `FlowControl.on_idle`."""
        return self.strategy.on_idle(limit, sender_position, is_end_of_stream, now_ns)

    def on_error(self, error: ErrorFrame, now_ns: int) -> int:
        """See `FlowControl.on_error`."""
        return self.strategy.on_error(error, now_ns)

    def has_required_receivers(self, now_ns: int) -> bool:
        """See `FlowControl.has_required_receivers`."""
        return bool(self.strategy.has_required_receivers(now_ns))


class CongestionControlProbe:
    """Probe of a congestion control, called as an image calls it."""

    strategy: CongestionControl

    def __init__(self, strategy: CongestionControl) -> None:
        self.strategy = strategy

    def on_track_rebuild(self, state: RebuildState) -> int:
        """See `CongestionControl.on_track_rebuild`."""
        return self.strategy.on_track_rebuild(state)

    def on_rtt_measurement_sent(self, now_ns: int) -> int:
        """See `CongestionControl.on_rtt_measurement_sent`."""
        return self.strategy.on_rtt_measurement_sent(now_ns)

    def on_rtt_measurement(self, now_ns: int, rtt_ns: int) -> int:
        """See `CongestionControl.on_rtt_measurement`."""
        return self.strategy.on_rtt_measurement(now_ns, rtt_ns)

    def should_measure_rtt(self, now_ns: int) -> bool:
        """See `CongestionControl.should_measure_rtt`."""
        return bool(self.strategy.should_measure_rtt(now_ns))

    def initial_window_length(self) -> int:
        """See `CongestionControl.initial_window_length`."""
        return self.strategy.initial_window_length()

    def max_window_length(self) -> int:
        """See `CongestionControl.max_window_length`."""
        return self.strategy.max_window_length()


class IdleStrategyProbe:
    """Probe of an idle strategy, called as an agent runner calls it."""

    strategy: IdleStrategy

    def __init__(self, strategy: IdleStrategy) -> None:
        self.strategy = strategy

    def idle(self, work_count: int) -> None:
        """See `IdleStrategy.idle`."""
        self._idle(work_count)

    def _idle(self, work_count: int) -> int:
        with cython.nogil:
            return self.strategy.idle(work_count)
