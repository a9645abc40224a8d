import threading

import pytest

from aeron_core._native.address import SocketAddress
from aeron_core._native.commands import Command, CommandRing


def received(ring):
    command = Command()
    found = []
    while ring.receive(command):
        found.append(command.code)
    return found


def test_a_command_arrives_with_all_of_its_fields():
    ring, command = CommandRing(2), Command()
    target, subject = object(), object()
    source, control = SocketAddress.of("127.0.0.1", 1), SocketAddress.of("::1", 2)

    assert ring.send(7, target, subject, range(8), [-(2**63), 2**63 - 1], source, control)

    assert ring.receive(command)
    assert (command.code, command.target, command.subject) == (7, target, subject)
    assert command.numbers == tuple(range(8))
    assert command.values[:2] == (-(2**63), 2**63 - 1)
    assert (command.source, command.control) == (source, control)
    assert command.text == b""


def test_a_command_without_objects_has_no_target_and_no_subject():
    ring, command = CommandRing(2), Command()
    ring.send(1)

    ring.receive(command)

    assert (command.target, command.subject) == (None, None)
    assert command.source == SocketAddress()


def test_commands_arrive_in_order():
    ring = CommandRing(8)
    for number in range(5):
        ring.send(number)

    assert ring.size == 5
    assert received(ring) == [0, 1, 2, 3, 4]
    assert ring.size == 0


def test_a_full_ring_rejects_commands_until_one_is_polled():
    ring, command = CommandRing(2), Command()

    assert [ring.send(number) for number in range(3)] == [True, True, False]
    ring.receive(command)
    assert ring.send(3)

    assert received(ring) == [1, 3]


def test_polling_an_empty_ring_does_not_change_the_command():
    ring, command = CommandRing(2), Command()
    ring.send(5)
    ring.receive(command)

    assert not ring.receive(command)
    assert command.code == 5


@pytest.mark.parametrize("capacity", [0, 1, 3, -2, 1000])
def test_a_capacity_that_is_not_a_power_of_two_is_rejected(capacity):
    with pytest.raises(ValueError, match=f"capacity={capacity}: must be a power of two"):
        CommandRing(capacity)


def test_one_thread_sends_while_another_receives():
    ring, command, found = CommandRing(1024), Command(), []

    def send():
        for number in range(20_000):
            while not ring.send(number, values=[number * 3]):
                pass

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    while len(found) < 20_000:
        if ring.receive(command):
            found.append((command.code, command.values[0]))
    sender.join(30)

    assert found == [(number, number * 3) for number in range(20_000)]
