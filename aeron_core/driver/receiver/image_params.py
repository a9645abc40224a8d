"""Parameters of an image: filled by the conductor, read once by the constructors of the receiver's classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aeron_core._native.clock import Clock
    from aeron_core._native.counter import AtomicCounter
    from aeron_core._native.park import Bell
    from aeron_core.concurrent.loss_writer import StreamLosses
    from aeron_core.driver.agents.one_way_latency import OneWayEstimate
    from aeron_core.driver.agents.system_counters import SystemCounters
    from aeron_core.driver.receiver.awaited_images import AwaitedImages
    from aeron_core.driver.receiver.image_connections import ImageConnection
    from aeron_core.driver.receiver.nak_delay import NakDelay
    from aeron_core.logbuffer.descriptor import LogBuffer
    from aeron_core.spi.congestion_control import CongestionControl
    from aeron_core.spi.endpoints import ReceiveChannelEndpoint


@frozen(kw_only=True)
class ImageParams:
    """Parameters of an image; `position` is the stream position at which it is joined.

    `now_ns` is the time of creation. `one_way` is None unless one-way latency is measured.
    """

    correlation_id: int
    session_id: int
    stream_id: int
    endpoint: ReceiveChannelEndpoint
    log: LogBuffer
    position: int
    connections: Sequence[ImageConnection]
    awaited: AwaitedImages
    hwm_position: AtomicCounter
    rebuild_position: AtomicCounter
    image_naks_sent: AtomicCounter  # `naks_sent` is the system counter
    losses: StreamLosses
    system_counters: SystemCounters
    congestion_control: CongestionControl
    nak_delay: NakDelay
    is_reliable: bool
    status_message_timeout_ns: int
    liveness_timeout_ns: int
    now_ns: int
    clock: Clock
    one_way: OneWayEstimate | None
    bell: Bell | None = None  # of the subscribers; None: they poll
