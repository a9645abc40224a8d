"""Channels divided among several senders: `python benchmarks/senders.py [--senders 1,2] [--channels 2] [--rounds 5]`.

A driver sends streams over loopback to sockets that nobody reads, which the kernel therefore drops: receivers would
take the processors that are to be compared. A process beside it sends the status messages, each with the position that
the driver has sent, so that no sender waits for a window. One thread publishes batches. Printed are bytes sent in a
second, and for each thread its share of a processor; medians of rounds, which alternate.
"""

import argparse
import os
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import aeron_core
from aeron_core.concurrent.counters import CountersReader
from aeron_core.protocol.cnc import CNC_FILE, CncFile
from aeron_core.protocol.frames import Setup, StatusMessage
from aeron_core.testing import encode_frame
from aeron_core.testing.frames import decode_frame

MAX_DATAGRAM = 65_536
TERM_LENGTH = 16 << 20
BATCH_LENGTH = 64 << 10
INTERVAL_S = 0.001
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def acknowledge(aeron_dir: str, channels: int) -> None:
    """Print the ports of sockets; answer the SETUP of each, then every millisecond its `snd-pos`, until killed."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(channels)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    print(*(each.getsockname()[1] for each in sockets), flush=True)
    cnc = CncFile.open(Path(aeron_dir) / CNC_FILE, read_only=True)
    counters = CountersReader(cnc.counters_metadata, cnc.counters_values)
    streams = []
    for each in sockets:
        data, source = each.recvfrom(MAX_DATAGRAM)
        setup = decode_frame(data)
        assert isinstance(setup, Setup)
        (position,) = (
            record.id
            for record in counters
            if record.label.startswith("snd-pos: ") and record.label.split()[2] == str(setup.session_id)
        )
        streams.append((each, source, setup, counters.counter(position)))
    shift = TERM_LENGTH.bit_length() - 1
    while True:
        for each, source, setup, counter in streams:
            position = counter.get_acquire()
            message = StatusMessage()
            message.session_id, message.stream_id = setup.session_id, setup.stream_id
            message.consumption_term_id = setup.initial_term_id + (position >> shift)
            message.consumption_term_offset = position & (TERM_LENGTH - 1)
            message.receiver_window = TERM_LENGTH // 2
            message.receiver_id = 1
            each.sendto(encode_frame(message), source)
        time.sleep(INTERVAL_S)


def processor_times() -> dict[str, float]:
    """Return the processor time of the threads of this process in seconds, by name."""
    found: dict[str, float] = {}
    for task in Path("/proc/self/task").iterdir():
        name, _, rest = (task / "stat").read_text().rpartition(")")
        key = name.partition("(")[2]
        # Several threads may have the name of the program.
        found[key] = found.get(key, 0.0) + sum(map(int, rest.split()[11:13])) / TICKS_PER_S
    return found


def measure(senders: int, channels: int, length: int, seconds: float) -> dict[str, float]:
    """Return gigabytes sent in a second, and the share of a processor of each thread."""
    settings = {"sender_threads": senders, "term_buffer_length": TERM_LENGTH, "driver_connect": False}
    with (
        aeron_core.MediaDriver.launch_embedded(settings) as driver,
        aeron_core.connect(driver.aeron_dir) as aeron,
    ):
        command = [
            sys.executable,
            __file__,
            "--acknowledge",
            str(driver.aeron_dir),
            "--channels",
            str(channels),
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as receiver:
            try:
                assert receiver.stdout is not None
                ports = receiver.stdout.readline().split()
                publications = [
                    aeron.add_exclusive_publication(f"aeron:udp?endpoint=127.0.0.1:{port}", 1)
                    for port in ports
                ]
                for each in publications:
                    each.await_connected(30)
                return _publish(publications, length, seconds)
            finally:
                receiver.kill()


def _publish(
    publications: list[aeron_core.ExclusivePublication], length: int, seconds: float
) -> dict[str, float]:
    count = max(BATCH_LENGTH // length, 1)
    data, offsets = bytes(count * length), np.arange(0, count * length + 1, length, dtype=np.int64)
    began_s = time.monotonic()
    before: dict[str, float] = {}
    position = 0
    while (now_s := time.monotonic()) < began_s + 1.5 * seconds:
        if not before and now_s >= began_s + seconds / 2:  # after a warm-up
            before, position, measured_s = (
                processor_times(),
                sum(each.position for each in publications),
                now_s,
            )
        if all([each.offer_batch(data, offsets) < 0 for each in publications]):  # noqa: C419 - each is to offer
            os.sched_yield()
    passed_s = now_s - measured_s
    sent = sum(each.position for each in publications) - position
    after = processor_times()
    shares = {name: (after[name] - before.get(name, 0.0)) / passed_s for name in after}
    return {"GB/s": sent / passed_s / 1e9} | {name: share for name, share in shares.items() if share > 0.05}


def main() -> None:
    """Print a line for each number of senders."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--senders", default="1,2")
    parser.add_argument("--channels", type=int, default=2)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--acknowledge", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.acknowledge:
        acknowledge(options.acknowledge, options.channels)
        return
    kinds = [int(text) for text in options.senders.split(",")]
    rounds = {kind: [] for kind in kinds}
    for _ in range(options.rounds):
        for kind in kinds:
            rounds[kind].append(measure(kind, options.channels, options.length, options.seconds))
    for kind in kinds:
        names = sorted({name for each in rounds[kind] for name in each})
        medians = {name: statistics.median(each.get(name, 0.0) for each in rounds[kind]) for name in names}
        print(f"{kind} senders: " + ", ".join(f"{name} {value:.2f}" for name, value in medians.items()))


if __name__ == "__main__":
    main()
