"""The kernel's filter and merged datagrams (GRO), of which it sees only the first."""

from flooded_socket import FLOOD, PUBLICATION, SECRET, Receiver, S, arrived, stranger
from secure_udp import ANSWER, FRAMES, Peer

from aeron_core.spi.udp_offload import SOL_UDP, UDP_GRO, UDP_SEGMENT


def test_a_run_of_short_datagrams_is_what_the_filter_takes_it_for():
    receiver = Receiver()
    flooders = [receiver.host(f"127.0.1.{number}") for number in range(1, 13)]
    host = receiver.host()
    receiver.socket.setsockopt(SOL_UDP, UDP_GRO, 1)
    for flooder in flooders:
        flooder.setsockopt(SOL_UDP, UDP_SEGMENT, 8)
    for _ in range(60):
        for flooder in flooders:
            flooder.send(7 * (b"AeSU\1" + bytes([ANSWER, 0, 0])))
        receiver.receive(source=host)

    assert arrived(receiver, *(stranger() for _ in range(200)), source=host) == 200


def test_a_run_that_begins_with_a_greeting_does_not_count_as_many_frames():
    receiver = Receiver()
    flooders = [receiver.host(f"127.0.1.{number}") for number in range(1, 21)]
    host = receiver.host()
    receiver.socket.setsockopt(SOL_UDP, UDP_GRO, 1)
    waste = [stranger(ANSWER), *(stranger() for _ in range(6))]
    for flooder in flooders:
        flooder.setsockopt(SOL_UDP, UDP_SEGMENT, len(waste[0]))
    for _ in range(60):
        for flooder in flooders:
            flooder.send(b"".join(waste))
        receiver.receive(source=host)

    assert arrived(receiver, *(stranger() for _ in range(200)), source=host) == 200


def test_a_peer_whose_source_a_stranger_forges_is_received_though_the_kernel_merges_their_datagrams():
    receiver, peer = Receiver(), Peer(SECRET, 1, PUBLICATION)
    receiver.socket.setsockopt(SOL_UDP, UDP_GRO, 1)
    host = receiver.host()
    receiver.admit(peer, host)
    length = len(peer.seal(b"data"))
    # The loopback interface keeps a run merged, as a card does with datagrams of one source.
    host.setsockopt(SOL_UDP, UDP_SEGMENT, length)

    def run():
        return b"".join([*(stranger()[:length] for _ in range(9)), peer.seal(b"data")])

    for _ in range(3):
        receiver.receive(*(run() for _ in range(40)), source=host)
    found = receiver.receive(*(run() for _ in range(40)), source=host)

    assert found == [b"data"] * 40
    # After ten seconds without such runs the next flood is dropped again.
    receiver.clock.advance(10 * S)
    flooder = receiver.host("127.0.0.2")
    receiver.start_flood(flooder)
    assert receiver.passed(*(stranger() for _ in range(FLOOD)), source=flooder) < FLOOD // 8


def test_a_peer_whose_datagrams_the_kernel_merges_behind_those_of_a_stranger_is_received():
    receiver, peer = Receiver(), Peer(SECRET, 1, PUBLICATION)
    receiver.socket.setsockopt(SOL_UDP, UDP_GRO, 1)
    host = receiver.host()
    receiver.admit(peer, host)
    length = len(peer.seal(b"data"))
    host.setsockopt(SOL_UDP, UDP_SEGMENT, length)
    waste = b"".join(stranger()[:length] for _ in range(9))

    # The peer sends little: in most runs there is only what the stranger sends with its source.
    for _ in range(3):
        receiver.receive(*[waste] * 100, source=host)
    found = []
    for _ in range(50):
        receiver.receive(*[waste] * 100, source=host)
        found += receiver.receive(waste + peer.seal(b"data"), source=host)

    assert len(found) > 45


def test_what_is_counted_while_datagrams_are_merged_is_forgotten():
    receiver, peer = Receiver(), Peer(SECRET, 1, PUBLICATION)
    receiver.socket.setsockopt(SOL_UDP, UDP_GRO, 1)
    host, flooder = receiver.host("127.0.0.5"), receiver.host("127.0.0.9")
    receiver.admit(peer, host)
    length = len(peer.seal(b"data"))
    host.setsockopt(SOL_UDP, UDP_SEGMENT, length)
    for _ in range(5):
        waste = b"".join(stranger(kind)[:length] for kind in (FRAMES, ANSWER) for _ in range(4))
        receiver.receive(*(waste + peer.seal(b"data") for _ in range(40)), source=host)
    receiver.clock.advance(10 * S)

    receiver.start_flood(flooder)

    assert receiver.passed(*(stranger() for _ in range(FLOOD)), source=flooder) < FLOOD // 8
    host.setsockopt(SOL_UDP, UDP_SEGMENT, 0)
    assert receiver.passed(*(stranger() for _ in range(50)), source=host) == 50
