"""Two clients of the reference in C, each in a process, on our driver or the reference's, in a third; run by `run.py`.

    c_clients.py ours|theirs|embedded|held shared|dedicated stream|echo CHANNEL LENGTH SECONDS

`embedded` is our driver in a Python program that waits, `held` in one whose thread holds the GIL for 50 ms at a time.
The client is that of pyaeron's library, called by `c_client.c`. Both drivers get the same settings by environment. The
processor time per gigabyte is that of all three processes while the stream is measured.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from workloads import with_free_port

SOURCE = Path(__file__).with_name("c_client.c")
LIBRARY = Path(__file__).parents[2] / "build" / "limits" / "c_client.so"
START_S = 20
#: Time for which a thread of the embedding program holds the GIL, in microseconds.
HELD_US = 50_000
SETTINGS = {
    "AERON_SHARED_IDLE_STRATEGY": "backoff",
    "AERON_CONDUCTOR_IDLE_STRATEGY": "backoff",
    "AERON_SENDER_IDLE_STRATEGY": "backoff",
    "AERON_RECEIVER_IDLE_STRATEGY": "backoff",
    "AERON_RCV_INITIAL_WINDOW_LENGTH": "2m",
    "AERON_SOCKET_SO_RCVBUF": "2m",
    "AERON_SOCKET_SO_SNDBUF": "2m",
    # The shortest for these windows: the logs are to stay in the caches.
    "AERON_TERM_BUFFER_LENGTH": "4m",
    "AERON_PRINT_CONFIGURATION": "false",
    "AERON_DIR_DELETE_ON_SHUTDOWN": "true",
}


def library() -> ctypes.CDLL:
    """Return the workloads, compiled if they are missing or older than their source."""
    from pyaeron import _pyaeron

    if not LIBRARY.exists() or LIBRARY.stat().st_mtime < SOURCE.stat().st_mtime:
        LIBRARY.parent.mkdir(parents=True, exist_ok=True)
        made = LIBRARY.with_suffix(f".{os.getpid()}")
        compiler = os.environ.get("CC", "cc")
        subprocess.run([compiler, "-O2", "-Wall", "-shared", "-fPIC", "-o", made, SOURCE], check=True)
        made.replace(LIBRARY)
    # The symbols of the client become visible to the workloads.
    ctypes.CDLL(_pyaeron.__file__, mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(LIBRARY))


def hold_gil() -> None:
    """Hold the GIL for HELD_US at a time, and release it only for an instant."""
    # Calls through `PyDLL` do not release it.
    library = ctypes.PyDLL(None)
    while True:
        library.usleep(HELD_US)
        time.sleep(0)


def run_driver(side: str, directory: str, mode: str) -> None:
    """Run a driver in this process until it is terminated."""
    # Before any thread starts, so that none of them is interrupted.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    if side == "theirs":
        import pyaeron

        driver = pyaeron.MediaDriver(dir=directory, threading=mode)
    else:
        import aeron_core

        driver = aeron_core.MediaDriver.launch()
        if side == "held":
            threading.Thread(target=hold_gil, daemon=True).start()
    signal.sigwait({signal.SIGTERM})
    driver.close()


def cpu_s(processes: Sequence[int]) -> float:
    """Return the processor time that processes have used."""
    ticks = 0
    for process in processes:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def subscribe(directory: str, channel: str, length: int, seconds: float, others: Sequence[int]) -> None:
    """Measure a stream, and print its rate and the processor time per gigabyte of this and the other processes."""
    marks: list[float] = []
    mark = ctypes.CFUNCTYPE(None)(lambda: marks.append(cpu_s([os.getpid(), *others])))
    measured = ctypes.create_string_buffer(256)
    library().subscribe(
        directory.encode(), channel.encode(), length, ctypes.c_double(seconds), mark, measured
    )
    figures = json.loads(measured.value)
    gigabytes = figures["MB/s"] * seconds / 1000
    print(json.dumps({**figures, "s/GB": (marks[1] - marks[0]) / gigabytes}), flush=True)


def client(work: str, directory: str, channel: str, *rest: str) -> None:
    """Run one of the two clients; see `c_client.c`."""
    arguments = directory.encode(), channel.encode()
    if work == "publish":
        library().publish(*arguments, int(rest[0]))
    elif work == "subscribe":
        subscribe(directory, channel, int(rest[0]), float(rest[1]), [int(process) for process in rest[2:]])
    elif work == "pong":
        library().pong(*arguments, rest[0].encode())
    else:
        library().ping(*arguments, rest[0].encode(), int(rest[1]), ctypes.c_double(float(rest[2])))


def start(*arguments: object) -> subprocess.Popen[bytes]:
    """Start this program with other arguments."""
    return subprocess.Popen([sys.executable, __file__, *map(str, arguments)])


def measure(
    driver: subprocess.Popen[bytes], directory: Path, work: str, channel: str, length: str, seconds: str
) -> int:
    """Run both clients on a driver; return the exit code of the one that measures."""
    deadline = time.monotonic() + START_S
    while not (directory / "cnc.dat").exists():
        if driver.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"error: the driver did not start: exit code {driver.poll()}, must be running")
        time.sleep(0.05)
    there = with_free_port(channel)
    if work == "stream":
        other = start("publish", directory, there, length)
        measuring = start("subscribe", directory, there, length, seconds, driver.pid, other.pid)
    else:
        back = with_free_port(channel)
        other = start("pong", directory, there, back)
        measuring = start("ping", directory, there, back, length, seconds)
    try:
        return measuring.wait(60 + 4 * float(seconds))
    finally:
        for process in (measuring, other):
            process.kill()
            process.wait()


def main() -> None:
    """Run the driver and both clients, or the part that the arguments name."""
    part, *rest = sys.argv[1:]
    if part in {"publish", "subscribe", "pong", "ping"}:
        client(part, *rest)
        return
    if part == "driver":
        run_driver(*rest)
        return
    mode, work, channel, length, seconds = rest
    # Compile before the driver starts.
    library()
    parent = Path(tempfile.mkdtemp(dir="/dev/shm"))
    directory = parent / "aeron"
    environment = {
        **os.environ,
        **SETTINGS,
        "AERON_DIR": str(directory),
        "AERON_THREADING_MODE": mode.upper(),
    }
    command = (
        # Without -P, an uncompiled checkout in the current folder would shadow the installed package.
        ["-P", "-m", "aeron_core", "driver"]
        if part == "ours"
        else [__file__, "driver", part, str(directory), mode]
    )
    driver = subprocess.Popen([sys.executable, *command], env=environment, stdout=sys.stderr)
    try:
        code = measure(driver, directory, work, channel, length, seconds)
    finally:
        driver.terminate()
        try:
            driver.wait(20)
        except subprocess.TimeoutExpired:
            driver.kill()
            driver.wait()
        shutil.rmtree(parent, ignore_errors=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
