"""Devices between simulated peers, on a simulated network."""

from __future__ import annotations

from pairing import Pairing, greeting, received_by

from aeron_core._native.address import SocketAddress
from aeron_core.device import Device, DeviceSide

FIRST_PORT = 5600
STREAM = 1


def listening(port, keys=""):
    return f"aeron:sp?endpoint=127.0.0.1:{port}|mode=listen{keys}"


def dialing(port, keys=""):
    return f"aeron:sp?endpoint=127.0.0.1:{port}|mode=dial{keys}"


class Devices(Pairing):
    """A driver with a client and its devices, all of which work in each round."""

    def __init__(self, directory):
        super().__init__(directory, subscribes=False, publishes=False)
        self.devices = []
        self.are_working = True

    def poll(self):
        if self.are_working:
            for device in self.devices:
                device.do_work()

    def add(self, *channels):
        sides = [
            DeviceSide(
                self.result(self.client.add_subscription_async(channel, STREAM)),
                self.result(self.client.add_exclusive_publication_async(channel, STREAM)),
            )
            for channel in channels
        ]
        self.devices.append(Device(*sides))
        return self.devices[-1]

    def serve(self, port):
        return self.connections.serve(SocketAddress.of("127.0.0.1", port))

    def join_port(self, port):
        """Return a peer that has connected to a port and exchanged greetings."""
        peer = self.connections.dial(SocketAddress.of("127.0.0.1", port))
        self.send_from(peer, greeting())
        assert received_by(peer, 8) == greeting()
        return peer

    def accept_at(self, listener):
        """Return a peer that has accepted a connection and exchanged greetings."""
        self.listener = listener
        peer = self.accept()
        self.send_from(peer, greeting())
        assert received_by(peer, 8) == greeting()
        return peer
