"""Public test kit: simulated network, drivers and clients on it, recorders, probes that call C methods."""

from aeron_core.testing.counters import counted, make_counters
from aeron_core.testing.frames import data_frame, decode_frame, encode_frame, frames_of
from aeron_core.testing.links import Fate, SimulatedLink
from aeron_core.testing.network import Sent, SimulatedHost, SimulatedNetwork
from aeron_core.testing.pair import DriverPair, DriverUnderTest, SimulatedDriver, Simulation
from aeron_core.testing.peer import SimulatedPeer
from aeron_core.testing.probes import (
    CongestionControlProbe,
    DatagramProbe,
    FlowControlProbe,
    IdleStrategyProbe,
    ReceiveEndpointProbe,
    RunBatch,
    SendEndpointProbe,
    Slot,
    Taken,
)
from aeron_core.testing.recorders import Call, RecordingDispatcher, RecordingSendStream
from aeron_core.testing.traffic import Feed, Sink, make_messages

__all__ = [
    "Call",
    "CongestionControlProbe",
    "DatagramProbe",
    "DriverPair",
    "DriverUnderTest",
    "Fate",
    "Feed",
    "FlowControlProbe",
    "IdleStrategyProbe",
    "ReceiveEndpointProbe",
    "RecordingDispatcher",
    "RecordingSendStream",
    "RunBatch",
    "SendEndpointProbe",
    "Sent",
    "SimulatedDriver",
    "SimulatedHost",
    "SimulatedLink",
    "SimulatedNetwork",
    "SimulatedPeer",
    "Simulation",
    "Sink",
    "Slot",
    "Taken",
    "counted",
    "data_frame",
    "decode_frame",
    "encode_frame",
    "frames_of",
    "make_counters",
    "make_messages",
]
