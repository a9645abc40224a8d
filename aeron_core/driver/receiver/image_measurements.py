"""Measurements with RTTM frames for one image: round-trip time and one-way latency.

    receiver ──RTTM with the reply flag──► sender ──RTTM that echoes its timestamp──► receiver: round-trip time
    sender ──RTTM for receiver id 0──► all receivers: one-way latency, see `one_way_latency`

Invariant: a reply counts only if its timestamp is later than that of the last reply that counted, and not
later than that of the last measurement. So duplicated and delayed replies cannot distort the estimate, nor
forged ones that do not guess the receiver's clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import wire
from aeron_core.driver.agents.rate_limit import reply_limit
from aeron_core.protocol.frames.rttm import Rttm

if TYPE_CHECKING:
    from aeron_core.driver.agents.one_way_latency import OneWayEstimate
    from aeron_core.driver.receiver.image_connections import ImageConnections
    from aeron_core.driver.receiver.image_params import ImageParams


class ImageMeasurements:
    """Measurements of one image; used by the receiver only."""

    _has_measured: bool
    _one_way: OneWayEstimate

    def __init__(self, params: ImageParams, connections: ImageConnections) -> None:
        self._connections = connections
        self._congestion_control = params.congestion_control
        self._clock = params.clock
        self._invalid_packets = params.system_counters.invalid_packets
        self._measures_one_way = params.one_way is not None
        self._one_way = params.one_way  # type: ignore[assignment] # None unless it measures
        self._replies = reply_limit()
        self._rttm = Rttm()
        self._rttm.session_id = params.session_id
        self._rttm.stream_id = params.stream_id

    def measure(self, now_ns: int) -> int:
        """Send an RTTM at `now_ns`, monotonic time, on each connection that gets answers; return 1."""
        self._rttm.flags = wire.RTTM_FLAG_REPLY
        # Only this host interprets the timestamp: the sender returns it unchanged.
        self._rttm.echo_timestamp = now_ns
        self._rttm.reception_delta = 0
        self._connections.send_rttm(self._rttm, now_ns)
        if not self._has_measured:
            self._has_measured = True
            # A time before this measurement, so that its own reply counts.
            self._answered_ns = now_ns - 1
        self._last_sent_ns = now_ns
        self._congestion_control.on_rtt_measurement_sent(now_ns)
        return 1

    def on_rttm(self, rttm: Rttm, now_ns: int) -> int:
        """Reply to a measurement of the sender, or use its reply or its one-way timestamp.

        Returns the number of replies sent, 0 if the frame needs none or is dropped.
        """
        if rttm.flags & wire.RTTM_FLAG_REPLY:
            return self._reply(rttm, now_ns)
        if rttm.receiver_id == 0:
            # Looks like a reply, but measures the one-way latency from the sender to all its receivers.
            return self._on_one_way(rttm)
        request_ns = rttm.echo_timestamp
        if (
            # A reply to a measurement that was not sent yet, or with a turnaround that is negative or longer than the
            # whole round trip.
            not self._has_measured
            or request_ns > self._last_sent_ns
            or not 0 <= rttm.reception_delta <= now_ns - request_ns
        ):
            self._invalid_packets.get_and_add(1)
            return 0
        if request_ns <= self._answered_ns:
            # Duplicated by the network, or overtaken by the reply to a later measurement.
            return 0
        self._answered_ns = request_ns
        # `reception_delta` is the time that the frame spent at the sender; it is not part of the network.
        return self._congestion_control.on_rtt_measurement(now_ns, now_ns - request_ns - rttm.reception_delta)

    def _on_one_way(self, rttm: Rttm) -> int:
        if self._measures_one_way and not self._one_way.on_measurement(
            rttm.echo_timestamp, self._clock.epoch_ns()
        ):
            self._invalid_packets.get_and_add(1)
        return 0

    def _reply(self, rttm: Rttm, now_ns: int) -> int:
        if not self._replies.take(now_ns):
            self._invalid_packets.get_and_add(1)
            return 0
        # The reply flag is not set: a reply must never be answered, or two ends would reply to each other endlessly.
        self._rttm.flags = 0
        self._rttm.echo_timestamp = rttm.echo_timestamp
        self._rttm.reception_delta = 0
        return self._connections.send_rttm(self._rttm, now_ns)
