"""Devices between peers: hops, both directions, back pressure, pairing of peers, and loops."""

from __future__ import annotations

import pytest
from devices import FIRST_PORT, Devices, dialing, listening
from pairing import message, received_by

from aeron_core.testing.pair import S

POLY = "|poly=true"
A, B = 5700, 5800


@pytest.fixture
def devices(tmp_path):
    with Devices(tmp_path) as simulation:
        yield simulation


def chain(devices, length):
    """Return the peers at both ends of a chain of `length` devices."""
    end = devices.serve(FIRST_PORT + length)
    for number in range(length):
        devices.add(listening(FIRST_PORT + number), dialing(FIRST_PORT + number + 1))
    before = devices.join_port(FIRST_PORT)
    return before, devices.accept_at(end)


@pytest.mark.parametrize("length", range(1, 8))
def test_each_device_adds_a_hop_in_both_directions(devices, length):
    before, behind = chain(devices, length)
    devices.run(1 * S)
    devices.send_from(before, message(b"forth"))
    devices.send_from(behind, message(b"back"))
    devices.run(1 * S)
    assert received_by(behind) == message(b"forth", hops=1 + length)
    assert received_by(before) == message(b"back", hops=1 + length)


def test_seven_devices_lead_to_a_reader_with_a_ttl_of_8_and_the_eighth_is_one_too_many(devices):
    before, behind = chain(devices, 7)
    devices.run(1 * S)
    # The second message has too many hops for a reader with ttl=8.
    devices.send_from(before, message(b"just"))
    devices.send_from(before, message(b"beyond", hops=2))
    devices.run(1 * S)
    assert received_by(behind) == message(b"just", hops=8) + message(b"beyond", hops=9)

    devices.send_from(before, message(b"discarded", hops=3))
    devices.run(1 * S)
    assert received_by(behind) == b""
    assert devices.counted("discards-ttl") == 1


def test_a_device_forwards_messages_of_any_length_in_order(devices):
    term = "|term-length=8m"
    end = devices.serve(B)
    devices.add(listening(A, term), dialing(B, term))
    before, behind = devices.join_port(A), devices.accept_at(end)
    bodies = [bytes(length) for length in (0, 1, 1376, 1377, 65536, 300_000, 3)]
    for body in bodies:
        devices.send_from(before, message(body))
    expected = b"".join(message(body, hops=2) for body in bodies)
    assert devices.read_exactly(behind, len(expected)) == expected


def test_a_message_too_long_for_the_other_side_is_counted_and_the_next_is_forwarded(devices):
    end = devices.serve(B)
    device = devices.add(listening(A, "|term-length=8m"), dialing(B, "|term-length=64k"))
    before, behind = devices.join_port(A), devices.accept_at(end)
    devices.send_from(before, message(bytes(100_000)) + message(b"next"))
    devices.run(1 * S)
    assert received_by(behind) == message(b"next", hops=2)
    assert device.traffic[0].too_long == 1


def test_back_pressure_affects_one_direction_only_and_loses_nothing(devices):
    end = devices.serve(B)
    device = devices.add(listening(A, "|term-length=64k"), dialing(B, "|term-length=64k"))
    before, behind = devices.join_port(A), devices.accept_at(end)
    behind.capacity = 0
    body = bytes(1000)
    sent = b""
    for _ in range(2000):
        taken = before.send(message(body)[len(sent) % len(message(body)) :])
        sent += bytes(taken)
        devices.run(1_000_000)
        if taken == 0:
            break
    assert taken == 0
    devices.send_from(behind, message(b"back"))
    assert received_by(before) == message(b"back", hops=2)

    behind.capacity = 1 << 20
    whole = len(sent) // len(message(body))
    assert devices.read_exactly(behind, whole * len(message(body))) == message(body, hops=2) * whole
    assert device.traffic[0].messages == whole


def test_peers_of_both_sides_stay_paired_while_both_are_connected(devices):
    devices.add(listening(A, POLY), listening(B, POLY))
    clients = [devices.join_port(A) for _ in range(2)]
    servers = [devices.join_port(B) for _ in range(2)]
    for number, client in enumerate(clients):
        devices.send_from(client, message(b"from %d" % number))
    devices.run(1 * S)
    for number, server in enumerate(servers):
        assert received_by(server) == message(b"from %d" % number, hops=2)
        devices.send_from(server, message(b"to %d" % number))
    devices.run(1 * S)
    for number, client in enumerate(clients):
        assert received_by(client) == message(b"to %d" % number, hops=2)

    for _ in range(3):
        devices.send_from(clients[1], message(b"again"))
    assert received_by(servers[0]) == b""
    assert received_by(servers[1]) == message(b"again", hops=2) * 3


def test_a_peer_whose_partner_has_disconnected_gets_another(devices):
    devices.add(listening(A, POLY), listening(B, POLY))
    client = devices.join_port(A)
    servers = [devices.join_port(B) for _ in range(2)]
    devices.send_from(client, message(b"one"))
    assert received_by(servers[0]) == message(b"one", hops=2)
    servers[0].close()
    devices.run(1 * S)
    devices.send_from(client, message(b"two"))
    devices.run(1 * S)
    assert received_by(servers[1]) == message(b"two", hops=2)
    devices.send_from(servers[1], message(b"reply"))
    assert received_by(client) == message(b"reply", hops=2)


def test_a_slow_peer_of_a_device_does_not_delay_others(devices):
    device = devices.add(listening(A, POLY), listening(B, f"{POLY}|peer-queue=4k|max-message=1k"))
    clients = [devices.join_port(A) for _ in range(2)]
    servers = [devices.join_port(B) for _ in range(2)]
    for number, client in enumerate(clients):
        devices.send_from(client, message(b"%d" % number))
        received_by(servers[number])
    servers[0].capacity = 0
    for _ in range(20):
        devices.send_from(clients[0], message(bytes(1000)))
    devices.send_from(clients[1], message(b"quick"))
    devices.run(1 * S)
    assert received_by(servers[1]) == message(b"quick", hops=2)
    assert device.traffic[0].left > 0

    servers[0].capacity = 1 << 20
    assert (
        devices.read_exactly(servers[0], 20 * len(message(bytes(1000)))) == message(bytes(1000), hops=2) * 20
    )
    assert devices.counted("unsent-peer-full") == 0


@pytest.mark.parametrize("keys", ["", POLY])
def test_a_device_with_one_channel_returns_messages_to_their_sender(devices, keys):
    devices.add(listening(A, keys))
    peers = [devices.join_port(A) for _ in range(2 if keys else 1)]
    for number, peer in enumerate(peers):
        devices.send_from(peer, message(b"%d" % number))
    devices.run(1 * S)
    for number, peer in enumerate(peers):
        assert received_by(peer) == message(b"%d" % number, hops=2)


def test_a_loop_of_devices_ends_with_the_ttl(devices):
    # Each device returns to the other what it receives.
    devices.add(listening(A))
    devices.add(dialing(A))
    devices.run(1 * S)
    stream = devices.result(devices.client.add_publication_async(listening(A), 1))
    devices.until(lambda: stream.offer(b"round and round") > 0)
    devices.run(1 * S)
    # Each of the two has received it four times; the ninth hop exceeds the ttl.
    assert devices.counted("messages-received") == 4
    assert devices.counted("discards-ttl") == 1


@pytest.mark.parametrize("ttl", [1, 15, 254, 255])
def test_a_loop_of_devices_ends_with_any_ttl(devices, ttl):
    keys = f"|ttl={ttl}|accept-zero-hop=true"
    devices.add(listening(A, keys))
    devices.add(dialing(A, keys))
    devices.run(1 * S)
    stream = devices.result(devices.client.add_publication_async(listening(A, keys), 1))
    devices.until(lambda: stream.offer(b"round and round") > 0)
    devices.run(5 * S)

    # A hop count above 255 cannot be sent: with that ttl the device that would send it drops the message.
    dropped = devices.counted("unsent-hops" if ttl == 255 else "discards-ttl")
    before = devices.counted("messages-received")
    assert dropped == 1
    assert 0 <= before - ttl // 2 <= 1
    devices.run(5 * S)
    assert devices.counted("messages-received") == before


@pytest.mark.parametrize("hops", [0, 255, 256, 0xFFFFFFFF])
def test_a_lie_about_hops_is_dropped_and_the_next_message_is_forwarded(devices, hops):
    end = devices.serve(B)
    devices.add(listening(A, "|ttl=255"), dialing(B))
    before, behind = devices.join_port(A), devices.accept_at(end)
    devices.send_from(before, message(b"lie", hops=hops) * 5 + message(b"next"))
    devices.run(1 * S)
    assert received_by(behind) == message(b"next", hops=2)


def test_a_device_settles_when_all_its_messages_were_sent(devices):
    end = devices.serve(B)
    device = devices.add(listening(A), dialing(B))
    before, behind = devices.join_port(A), devices.accept_at(end)
    behind.capacity = 0
    devices.send_from(before, message(b"late"))
    assert not device.settle()
    behind.capacity = 1 << 20
    devices.run(1 * S)
    assert device.settle()
    assert received_by(behind) == message(b"late", hops=2)


def test_a_device_may_have_a_channel_without_peers(devices):
    device = devices.add(listening(A), "aeron:ipc")
    peer = devices.join_port(A)
    local = devices.result(devices.client.add_subscription_async("aeron:ipc", 1))
    devices.run(1 * S)
    devices.send_from(peer, message(b"m"))
    bodies = []
    local.poll(lambda buffer, header: bodies.append(bytes(buffer)), 10)
    assert bodies == [b"m"]
    assert device.settle()


def test_messages_of_a_disconnected_peer_wait_for_a_peer_of_the_other_side(devices):
    devices.add(listening(A), listening(B))
    before = devices.join_port(A)
    devices.send_from(before, b"".join(message(b"%d" % number) for number in range(2000)))
    before.close()
    devices.run(60 * S)
    behind = devices.join_port(B)
    expected = b"".join(message(b"%d" % number, hops=2) for number in range(2000))
    assert devices.read_exactly(behind, len(expected)) == expected
