"""Parameters of publications: filled by the conductor, read once by the constructors of the sender's classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.frozen import frozen

if TYPE_CHECKING:
    from aeron_core._native.clock import Clock
    from aeron_core._native.commands import CommandRing
    from aeron_core._native.counter import AtomicCounter
    from aeron_core._native.datagrams import SendBatch
    from aeron_core._native.park import Bell
    from aeron_core.driver.agents.system_counters import SystemCounters
    from aeron_core.logbuffer.descriptor import LogBuffer
    from aeron_core.spi.endpoints import SendChannelEndpoint
    from aeron_core.spi.flow_control import FlowControl


@frozen(kw_only=True)
class PublicationParams:
    """Parameters of any publication; `position` is the stream position at its start, lengths are bytes."""

    registration_id: int
    session_id: int
    stream_id: int
    log: LogBuffer
    position: int
    publisher_window_length: int
    publisher_position: AtomicCounter
    publisher_limit: AtomicCounter
    bell: Bell | None = None  # of local subscribers; None: they poll


@frozen(kw_only=True)
class IpcPublicationParams(PublicationParams):
    """Parameters of an IPC publication: none besides those of any publication."""


@frozen(kw_only=True)
class SendingPublicationParams(PublicationParams):
    """Parameters of any publication that the sender sends."""

    endpoint: SendChannelEndpoint
    sender_position: AtomicCounter
    sender_limit: AtomicCounter


@frozen(kw_only=True)
class AcknowledgedPublicationParams(SendingPublicationParams):
    """Parameters of a publication over a connection.

    `medium_state` is what the medium keeps for the stream; only the sender uses it once the stream has started.
    """

    medium_state: object


@frozen(kw_only=True)
class NetworkPublicationParams(SendingPublicationParams):
    """Parameters of a publication in datagrams.

    `mtu` is bytes, `ttl` hops, `max_messages_per_send` entries of a batch, `max_resend` retransmissions at a time.
    `shares_batches`: a batch may have heartbeats of other streams, too. `proof_secret` is random, at least 0. `now_ns`
    is the time of creation. One-way latency is not measured with an interval of 0.
    """

    flow_control: FlowControl
    system_counters: SystemCounters
    back_pressure_events: AtomicCounter
    naks_received: AtomicCounter
    batch: SendBatch
    shares_batches: bool
    conductor: CommandRing
    mtu: int
    ttl: int
    is_group: bool
    requests_response: bool
    is_response: bool
    uses_gso: bool
    signals_eos: bool
    spies_simulate_connection: bool
    max_messages_per_send: int
    max_resend: int
    initial_window_length: int
    retransmit_delay_ns: int
    retransmit_linger_ns: int
    connection_timeout_ns: int
    requires_proof: bool
    proof_secret: int
    now_ns: int
    clock: Clock
    one_way_latency_interval_ns: int
