"""Devices of the PAIR protocol: what comes from one channel goes on to another, and the other way round."""

from aeron_core.device.device import Device as Device
from aeron_core.device.device import DeviceSide as DeviceSide
from aeron_core.device.device import Traffic as Traffic

__all__ = ["Device", "DeviceSide", "Traffic"]
