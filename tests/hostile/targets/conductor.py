"""A driver that executes any commands of a client: it answers or ignores each, and serves other clients.

An input is records of the command ring: type, and message.
"""

from __future__ import annotations

from pathlib import Path

from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.protocol import commands
from aeron_core.protocol.commands import COMMANDS, ClientClose
from aeron_core.testing.pair import MS, DriverUnderTest, S
from targets._messages import messages
from targets._script import Script, block
from targets._simulations import Shared

MAX_COMMANDS = 12
CLIENT = 500
TERMINATE = commands.TerminateDriver.TYPE_ID


class Commanded(DriverUnderTest):
    """A driver, its ring, and the clients of an input, which start with other ids than those of a real one."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            folder,
            timer_interval_ns="20ms",
            client_liveness_timeout_ns="2s",
            publication_linger_timeout_ns="1ms",
            image_liveness_timeout_ns="100ms",
        )
        self.ring = ManyToOneRingBuffer(self.driver.cnc.to_driver)
        self.publication = self.add_publication("aeron:ipc", 1)


SHARED = Shared(Commanded)


def record(type_id: int, message: bytes) -> bytes:
    return block(message, type_id)


def seeds() -> list[bytes]:
    # The client of the simulation has the id of the captured one.
    here = CLIENT.to_bytes(8, "little")
    captured = [
        (type_id, here + message[8:]) for type_id, message in messages("commands") if type_id != TERMINATE
    ]
    client, udp = (CLIENT, 1), "aeron:udp?endpoint=127.0.0.1:20121"
    made = [
        commands.AddPublication(*client, 7, udp + "|term-length=64k"),
        commands.AddSubscription(CLIENT, 2, -1, 7, udp),
        commands.AddExclusivePublication(
            CLIENT, 3, 8, "aeron:udp?control-mode=manual|control=127.0.0.1:4444"
        ),
        commands.AddDestination(CLIENT, 4, 3, "aeron:udp?endpoint=127.0.0.1:4445"),
        commands.AddRcvDestination(CLIENT, 5, 2, udp),
        commands.AddCounter(CLIENT, 6, 1001, b"key", "label"),
        commands.RemoveCounter(CLIENT, 7, 6),
        commands.RemovePublication(CLIENT, 8, 1, 1),
        commands.RemoveSubscription(CLIENT, 9, 2),
        ClientClose(CLIENT, 10),
    ]
    return [
        b"".join(record(one.TYPE_ID, one.encode()) for one in made),
        *(record(type_id, message) for type_id, message in captured),
    ]


def check(data: bytes) -> bool:
    with SHARED.use() as simulation:
        # Counters of an input may exist until the driver closes: only some inputs find space for more.
        known: set[int] = set()
        accepted = 0
        for type_id, message in Script(data).blocks(MAX_COMMANDS):
            client_id = int.from_bytes(message[:8], "little", signed=True)
            if type_id == TERMINATE or client_id == simulation.client.client_id or not type_id:
                continue
            accepted += type_id in COMMANDS
            known.add(client_id)
            assert simulation.ring.write(type_id, message[: simulation.ring.max_message_length])
            simulation.run_for(3 * MS)
        for client_id in known:
            simulation.ring.write(ClientClose.TYPE_ID, ClientClose(client_id, 0).encode())
        # The conductor releases them with its next timers.
        simulation.idle_step_ns = 20 * MS
        simulation.run_until(lambda: len(simulation.driver.log_files()) == 1, within_ns=60 * S)
        simulation.idle_step_ns = 1 * MS
        assert_serves(simulation)
        return accepted > 0


def assert_serves(simulation: Commanded) -> None:
    assert simulation.publication.channel == "aeron:ipc"
    counter = simulation.result(simulation.client.add_counter_async(1001, label="served"))
    counter.close()
    simulation.run_for(2 * MS)
