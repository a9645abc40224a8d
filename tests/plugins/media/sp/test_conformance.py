"""The medium `sp` passes the suite for media with connections."""

from pairing import ADDRESS, greeting, message

from aeron_core.testing.conformance import ConnectionMediumConformance, Wire


class PairWire(Wire):
    """PAIR1: u64 length, u32 hops, body; all numbers big-endian."""

    def __init__(self):
        self._expected = greeting()

    def greeting(self):
        return greeting()

    def encode(self, body):
        return message(body)

    def decode(self, data):
        self._rest += data
        if self._expected:
            if len(self._rest) < len(self._expected):
                return []
            assert self._rest.startswith(self._expected)
            self._rest = self._rest[len(self._expected) :]
            self._expected = b""
        found = []
        while len(self._rest) >= 8 and len(self._rest) >= (end := 8 + int.from_bytes(self._rest[:8], "big")):
            found.append(self._rest[12:end])
            self._rest = self._rest[end:]
        return found


class TestPairSockets(ConnectionMediumConformance):
    listening = f"aeron:sp?endpoint={ADDRESS}|mode=listen|poly=true|term-length=64k"
    connecting = f"aeron:sp?endpoint={ADDRESS}|mode=dial|term-length=64k"
    address = ADDRESS
    # A length of 2^64 - 1, which no message may have.
    malformed = b"\xff" * 8
    counters = "sp-"

    def make_wire(self):
        return PairWire()
