"""A driver in a program whose threads hold the GIL: streams of other processes do not wait for it."""

import ctypes
import json
import subprocess
import sys
import threading
import time

import pytest

import aeron_core

HELD_S = 2.0
# A process of its own: its client must not need the GIL of the program that embeds the driver.
CLIENT = """
import json, sys, time
import aeron_core
with aeron_core.connect(sys.argv[1]) as aeron:
    subscription = aeron.add_subscription(sys.argv[2], 1)
    channel = sys.argv[2].replace("127.0.0.1:0", subscription.resolved_endpoint() or "")
    publication = aeron.add_exclusive_publication(channel, 1)
    publication.await_connected(60)
    subscription.await_connected(60)
    print("connected", flush=True)
    sys.stdin.readline()
    received, longest = 0, 0.0
    begun = previous = time.monotonic()
    while previous < begun + float(sys.argv[3]):
        while publication.offer(b"message") < 0:
            time.sleep(0)
        while not subscription.poll(lambda buffer, header: None, 1):
            time.sleep(0)
        received += 1
        now = time.monotonic()
        longest, previous = max(longest, now - previous), now
    print(json.dumps({"received": received, "longest": longest}))
"""


@pytest.mark.system
@pytest.mark.parametrize("mode", ["DEDICATED", "SHARED_NETWORK"])
@pytest.mark.parametrize("channel", ["aeron:ipc", "aeron:udp?endpoint=127.0.0.1:0"])
def test_a_stream_of_another_process_continues_while_a_thread_holds_the_gil(mode, channel):
    # A call through `PyDLL` keeps the GIL while it sleeps.
    library = ctypes.PyDLL(None)
    holder = threading.Thread(target=lambda: library.usleep(int(HELD_S * 1e6)))

    with aeron_core.MediaDriver.launch_embedded({"threading_mode": mode}) as driver:
        client = subprocess.Popen(
            [sys.executable, "-c", CLIENT, str(driver.aeron_dir), channel, str(HELD_S / 2)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with client:
            assert client.stdout.readline() == "connected\n"
            client.stdin.write("go\n")
            client.stdin.flush()
            begun = time.monotonic()
            holder.start()
            measured = json.loads(client.stdout.readline())
        holder.join()

        held_s = time.monotonic() - begun

    assert held_s >= HELD_S
    assert measured["received"] > 10
    assert measured["longest"] < HELD_S / 2


@pytest.mark.system
def test_neither_client_nor_driver_times_out_while_threads_hold_the_gil_most_of_the_time():
    library = ctypes.PyDLL(None)
    is_ended = threading.Event()

    def hold():
        while not is_ended.is_set():
            library.usleep(50_000)
            time.sleep(0)

    settings = {"client_liveness_timeout_ns": 2_000_000_000, "threading_mode": "DEDICATED"}
    with aeron_core.MediaDriver.launch_embedded(settings) as driver:
        client = subprocess.Popen(
            [sys.executable, "-c", CLIENT, str(driver.aeron_dir), "aeron:ipc", "4"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with client:
            assert client.stdout.readline() == "connected\n"
            holder = threading.Thread(target=hold)
            holder.start()
            client.stdin.write("go\n")
            client.stdin.flush()
            measured = json.loads(client.stdout.readline())
            is_ended.set()
            holder.join()

    assert client.returncode == 0
    assert measured["received"] > 10
