"""A wire that the test reads and writes."""

from aeron_core._native.address import SocketAddress


class Wire:
    """A socket, for `PythonDatagramChannel`: returns `waiting`, and keeps what is sent, with the destinations."""

    def __init__(self, waiting=()):
        self.waiting = list(waiting)
        self.sent = []

    def receive(self, limit):
        taken, self.waiting = self.waiting[:limit], self.waiting[limit:]
        return taken

    def send(self, datagram, destination):
        self.sent.append((bytes(datagram), destination))

    def datagrams(self):
        """Return what was sent without the destinations."""
        return [datagram for datagram, _ in self.sent]

    def local_address(self):
        return SocketAddress.of("127.0.0.1", 1)

    def close(self):
        pass
