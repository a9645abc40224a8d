"""Devices of the PAIR protocol, which forward messages between two channels, or return those of one channel."""

from aeron_core.device.device import Device as Device
from aeron_core.device.device import DeviceSide as DeviceSide
from aeron_core.device.device import Traffic as Traffic

__all__ = ["Device", "DeviceSide", "Traffic"]
