"""Public test kit: a simulated network, recorders of what endpoints hand over, probes that call C methods."""

from aeron_core.testing.counters import counted, make_counters
from aeron_core.testing.frames import data_frame, encode_frame
from aeron_core.testing.network import Fate, Link, Sent, SimulatedHost, SimulatedNetwork
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

__all__ = [
    "Call",
    "CongestionControlProbe",
    "DatagramProbe",
    "Fate",
    "FlowControlProbe",
    "IdleStrategyProbe",
    "Link",
    "ReceiveEndpointProbe",
    "RecordingDispatcher",
    "RecordingSendStream",
    "RunBatch",
    "SendEndpointProbe",
    "Sent",
    "SimulatedHost",
    "SimulatedNetwork",
    "Slot",
    "Taken",
    "counted",
    "data_frame",
    "encode_frame",
    "make_counters",
]
