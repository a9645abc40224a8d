r"""Conformance suite for media with connections, such as a protocol over TCP.

The suite runs a driver on a simulated network and simulates its peers. A subclass adds the protocol of a peer: `Wire`.

    from aeron_core.testing.conformance import ConnectionMediumConformance, Wire

    class LineWire(Wire):
        def encode(self, body):
            return body + b"\n"

        def decode(self, data):
            *lines, self._rest = (self._rest + data).split(b"\n")
            return lines

    class TestLines(ConnectionMediumConformance):
        listening = "aeron:lines?endpoint=127.0.0.1:7000|mode=listen|term-length=64k"
        connecting = "aeron:lines?endpoint=127.0.0.1:7000|mode=dial|term-length=64k"
        address = SocketAddress.of("127.0.0.1", 7000)
        malformed = b"\0"
        counters = "lines-"

        def make_wire(self):
            return LineWire()

Use the shortest terms, as above, because some tests send until back pressure stops them. `acknowledges = True` adds
tests of acknowledgements, which need `Wire.confirm` and `Wire.confirmed`.

Each test has the pytest fixture `tmp_path`.

Not here: channel URIs (`MediaTransportConformance`), and features of a single protocol.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from aeron_core.errors import RegistrationError
from aeron_core.logbuffer import results
from aeron_core.testing.conformance.connection_lab import ConnectionLab, ConnectionMedium, WirePeer
from aeron_core.testing.conformance.open_descriptors import assert_released, open_descriptors
from aeron_core.testing.pair import MS, S

#: More than a channel with short terms may buffer, so that back pressure must occur.
_FLOOD_LENGTH: Final = 4 * 1024 * 1024
#: Rounds of 10 ms in which a publication takes nothing more, until it counts as blocked.
_STALLED_ROUNDS: Final = 20
#: A JSON object, because publications of some media accept nothing else.
_BODY: Final = b'{"message":"%s"}' % (b"0123456789abcdef" * 256)


class ConnectionMediumConformance(ConnectionMedium):
    """Suite for a medium with connections: subclass as `Test…`, as in the example of the module's docstring."""

    # Tests of receiving: the driver listens, and simulated peers connect to it.

    def test_a_peer_that_connects_is_an_image_until_it_leaves(self, tmp_path: Path) -> None:
        """Each connection has its own session id."""
        with ConnectionLab(tmp_path, self) as lab:
            subscription = lab.subscribe(self.listening)
            one, other = lab.dial(), lab.dial()
            for peer in (one, other):
                peer.send(_BODY)
            lab.until(lambda: len(lab.received) == 2)
            assert len({image.session_id for image in subscription.images}) == 2
            one.connection.close()
            lab.until(lambda: subscription.image_count == 1)
            other.send(b'{"still":"there"}')
            lab.until(lambda: lab.received[-1] == b'{"still":"there"}')

    def test_a_message_that_arrives_byte_by_byte_is_delivered_once(self, tmp_path: Path) -> None:
        """The boundaries of receive calls do not matter."""
        with ConnectionLab(tmp_path, self) as lab:
            lab.subscribe(self.listening)
            peer = lab.dial()
            encoded = peer.wire.encode(b"in pieces")
            for at in range(len(encoded)):
                peer.send_raw(encoded[at : at + 1])
                lab.until(lambda: peer.is_idle)
                lab.run(1 * MS)
            lab.until(lambda: lab.received)
            lab.run(100 * MS)
            assert lab.received == [b"in pieces"]

    def test_a_subscriber_that_does_not_poll_causes_back_pressure(self, tmp_path: Path) -> None:
        """Nothing is lost, and the driver buffers a bounded amount."""
        bodies = [_numbered(number) for number in range(_FLOOD_LENGTH // len(_BODY))]
        with ConnectionLab(tmp_path, self) as lab:
            lab.subscribe(self.listening)
            peer = lab.dial()
            for body in bodies:
                peer.send(body)
            lab.is_polling = False
            lab.run(2 * S)
            assert not peer.is_idle
            assert lab.received == []
            lab.is_polling = True
            lab.until(lambda: len(lab.received) >= len(bodies))
            assert lab.received == bodies

    def test_a_message_is_acknowledged_when_subscribers_have_consumed_it(self, tmp_path: Path) -> None:
        """A driver that acknowledges on receipt, and then stops, would lose the message."""
        if not self.acknowledges:
            return
        with ConnectionLab(tmp_path, self) as lab:
            lab.subscribe(self.listening)
            peer = lab.dial()
            lab.is_polling = False
            peer.send(_BODY)
            lab.run(1 * S)
            assert peer.wire.confirmed(peer.connection.received()) == 0
            lab.is_polling = True
            lab.until(lambda: peer.wire.confirmed(peer.connection.received()) == 1)

    def test_messages_sent_before_a_half_close_are_delivered(self, tmp_path: Path) -> None:
        """After them, the image ends and the connection is closed."""
        with ConnectionLab(tmp_path, self) as lab:
            subscription = lab.subscribe(self.listening)
            peer = lab.dial()
            peer.send(b"last")
            lab.until(lambda: peer.is_idle)
            peer.connection.end()
            lab.until(lambda: lab.received == [b"last"])
            lab.until(lambda: peer.is_closed and subscription.image_count == 0)

    def test_a_peer_that_aborts_does_not_disturb_the_next(self, tmp_path: Path) -> None:
        """The slot and the image of the aborted connection are released."""
        with ConnectionLab(tmp_path, self) as lab:
            subscription = lab.subscribe(self.listening)
            peer = lab.dial()
            peer.send(b"first")
            lab.until(lambda: lab.received == [b"first"])
            peer.send_raw(peer.wire.encode(_BODY)[:-1])
            peer.work()
            peer.connection.close(aborts=True)
            lab.until(lambda: subscription.image_count == 0)
            lab.dial().send(b"second")
            lab.until(lambda: lab.received == [b"first", b"second"])

    def test_a_peer_that_breaks_the_protocol_is_disconnected_and_logged(self, tmp_path: Path) -> None:
        """The error log contains the address of the peer; other peers are not affected."""
        with ConnectionLab(tmp_path, self) as lab:
            lab.subscribe(self.listening)
            good, bad = lab.dial(), lab.dial()
            bad.send_raw(self.malformed)
            lab.until(lambda: bad.is_closed)
            good.send(b"unharmed")
            lab.until(lambda: lab.received == [b"unharmed"])
            lab.until(lambda: any(str(bad.connection.address) in text for text in lab.errors()))

    def test_a_connection_beyond_the_limit_is_closed(self, tmp_path: Path) -> None:
        """The first peer stays connected."""
        with ConnectionLab(tmp_path, self) as lab:
            lab.subscribe(self.listening + self.limit)
            first = lab.dial()
            lab.run(100 * MS)
            surplus = lab.dial()
            lab.until(lambda: surplus.is_closed)
            first.send(_BODY)
            lab.until(lambda: lab.received == [_BODY])

    def test_an_address_in_use_is_refused(self, tmp_path: Path) -> None:
        """The client gets a RegistrationError that names the address."""
        with ConnectionLab(tmp_path, self) as lab:
            lab.connections.serve(self.address)
            refusal = ""
            try:
                lab.subscribe(self.listening)
            except RegistrationError as error:
                refusal = str(error)
            assert str(self.address) in refusal

    # Tests of sending: the driver connects to simulated peers.

    def test_a_publication_connects_and_delivers(self, tmp_path: Path) -> None:
        """It is connected once its peer has accepted the connection."""
        with ConnectionLab(tmp_path, self) as lab:
            lab.serve()
            publication = lab.publish()
            peer = lab.accept()
            lab.until(lambda: publication.is_connected)
            lab.until(lambda: publication.offer(_BODY) > 0)
            lab.until(lambda: peer.receive() == [_BODY])

    def test_a_publication_without_a_peer_retries(self, tmp_path: Path) -> None:
        """Until a peer listens, it is not connected, and an offer returns NOT_CONNECTED."""
        with ConnectionLab(tmp_path, self) as lab:
            publication = lab.publish()
            lab.run(2 * S)
            assert not publication.is_connected
            assert publication.offer(_BODY) == results.NOT_CONNECTED
            lab.serve()
            lab.accept()
            lab.until(lambda: publication.is_connected)

    def test_a_publication_reconnects_after_its_peer_has_disconnected(self, tmp_path: Path) -> None:
        """Messages are sent to the next peer."""
        with ConnectionLab(tmp_path, self) as lab:
            lab.serve()
            publication = lab.publish()
            lab.accept().connection.close(aborts=True)
            peer = lab.accept()
            lab.until(lambda: publication.is_connected and publication.offer(_BODY) > 0)
            lab.until(lambda: _BODY in peer.receive())

    def test_a_peer_that_does_not_read_causes_back_pressure(self, tmp_path: Path) -> None:
        """Offers return BACK_PRESSURED; once the peer reads, all messages arrive in order."""
        with ConnectionLab(tmp_path, self) as lab:
            lab.serve()
            publication = lab.publish()
            peer = lab.accept()
            lab.until(lambda: publication.is_connected)
            offered: list[bytes] = []
            stalled = result = 0
            while stalled < _STALLED_ROUNDS:
                body = _numbered(len(offered))
                result = publication.offer(body)
                if result > 0:
                    offered.append(body)
                    stalled = 0
                    assert len(offered) * len(_BODY) < _FLOOD_LENGTH
                else:
                    stalled += 1
                    lab.run(10 * MS)
            assert result == results.BACK_PRESSURED
            lab.until(lambda: len(lab.read(peer)) >= len(offered))
            assert peer.messages == offered

    def test_the_sender_position_follows_the_peer(self, tmp_path: Path) -> None:
        """With acknowledgements it advances when the peer confirms, otherwise when bytes are sent."""
        with ConnectionLab(tmp_path, self) as lab:
            lab.serve()
            publication = lab.publish()
            peer = lab.accept()
            lab.until(lambda: publication.is_connected)
            start = lab.sender_position()
            lab.until(lambda: publication.offer(_BODY) > 0)
            lab.until(lambda: peer.receive() == [_BODY])
            if self.acknowledges:
                lab.run(1 * S)
                assert lab.sender_position() == start
                peer.send_raw(peer.wire.confirm(1))
            lab.until(lambda: lab.sender_position() == publication.position)

    # Tests of the resources that must be released when a subscription or a publication is closed.

    def test_counters_of_an_endpoint_are_freed_with_it(self, tmp_path: Path) -> None:
        """While it is open, at least one of them is positive."""
        with ConnectionLab(tmp_path, self) as lab:
            subscription = lab.subscribe(self.listening)
            lab.dial().send(_BODY)
            lab.until(lambda: lab.received)
            lab.run(1 * S)
            assert sum(counter.value for counter in lab.driver.find_counters(self.counters)) > 0
            subscription.close()
            lab.until(lambda: not lab.driver.find_counters(self.counters))

    def test_closing_releases_the_address_the_connections_and_all_descriptors(self, tmp_path: Path) -> None:
        """Peers are disconnected, and the same channel can be opened again at once."""
        with ConnectionLab(tmp_path, self) as lab:
            before = open_descriptors()
            for _ in range(2):
                subscription = lab.subscribe(self.listening)
                peer = lab.dial()
                peer.send(b"hello")
                lab.until(lambda: lab.received == [b"hello"])
                subscription.close()
                lab.until(partial(_is_closed, peer))
                assert_released(lab, before)
                lab.received.clear()

    def test_closing_a_publication_ends_its_connection(self, tmp_path: Path) -> None:
        """Messages offered before are delivered first."""
        with ConnectionLab(tmp_path, self) as lab:
            before = open_descriptors()
            lab.serve()
            publication = lab.publish()
            peer = lab.accept()
            lab.until(lambda: publication.is_connected and publication.offer(b'{"last":1}') > 0)
            publication.close()
            lab.until(lambda: lab.read(peer) == [b'{"last":1}'])
            lab.until(lambda: peer.is_closed)
            assert_released(lab, before)


def _numbered(number: int) -> bytes:
    return b'{"number":%d,' % number + _BODY[1:]


def _is_closed(peer: WirePeer) -> bool:
    return peer.is_closed
