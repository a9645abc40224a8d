"""Latency from an appended line, and from a new file, to its message, and the idle load of `aeron-core ship`.

Prints each for polling and, if the extra `ship` is installed, for notifications of the kernel.
"""

import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import aeron_core

LINES, FILES, IDLE_S, IDLE_FILES = 100, 30, 15.0, 200


def await_message(subscription: aeron_core.Subscription) -> float:
    """Return the time at which the next message arrives."""
    arrived = []
    while not arrived:
        subscription.poll(lambda *_: arrived.append(time.perf_counter()), 1)
        time.sleep(0.0002)
    return arrived[0]


def latencies(subscription: aeron_core.Subscription, paths: list[Path]) -> list[float]:
    """Append a line to each path, at random times, and return the milliseconds until each message arrives."""
    found = []
    for path in paths:
        time.sleep(random.uniform(0.2, 0.4))
        begin = time.perf_counter()
        with path.open("a") as file:
            file.write("a line\n")
        found.append((await_message(subscription) - begin) * 1000)
    return sorted(found)


def cpu_s(pid: int) -> float:
    """Return the processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def shown(found: list[float]) -> str:
    """Return median and 99th percentile."""
    return f"{statistics.median(found):7.1f} {found[int(len(found) * 0.99)]:7.1f}"


def measure(driver: aeron_core.MediaDriver, options: list[str]) -> None:
    """Run the command with options, and print what is measured."""
    with (
        tempfile.TemporaryDirectory() as name,
        aeron_core.connect(driver.aeron_dir) as client,
        client.add_subscription("aeron:ipc", 1) as subscription,
    ):
        folder = Path(name)
        (folder / "app.log").touch()
        command = [
            sys.executable,
            "-m",
            "aeron_core",
            "ship",
            f"{folder}/*.log",
            "--to",
            "aeron:ipc",
            *options,
        ]
        command += ["--aeron-dir", str(driver.aeron_dir), "--state", str(folder / "state")]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            subscription.await_connected(timeout=20)
            time.sleep(2)
            appended = latencies(subscription, [folder / "app.log"] * LINES)
            created = latencies(subscription, [folder / f"{number}.log" for number in range(FILES)])
            for number in range(FILES, IDLE_FILES):
                (folder / f"{number}.log").touch()
            time.sleep(3)
            begin = cpu_s(process.pid)
            time.sleep(IDLE_S)
            load = (cpu_s(process.pid) - begin) / IDLE_S
        finally:
            process.terminate()
            process.wait()
    print(f"{' '.join(options) or 'default':16} {shown(appended)} {shown(created)}   {load:6.1%}")


if __name__ == "__main__":
    print(f"latency, ms       append: 50 %  99 %  new file: 50 %  99 %   idle, {IDLE_FILES} files")
    with aeron_core.MediaDriver.launch_embedded({"threading_mode": "SHARED"}) as media_driver:
        for argument in sys.argv[1:] or ["", "--poll"]:
            measure(media_driver, argument.split())
