"""Start-up, shutdown and memory of drivers, and processor time of the command line: medians of several runs.

The C driver of pyaeron runs in the same rounds if a Python with pyaeron is found: the one that runs this program,
that of `.venv-interop`, or the one of `--pyaeron`. A ratio is our figure divided by that of the C driver. The processor
times of both include the start of a Python interpreter. The bare import is that of the package, which imports most
modules when one of its names is used.

All processes share a folder of compiled bytecode, as those of an installed package do. The first round, which fills it,
does not count.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import mmap
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

import aeron_core

ROOT = Path(__file__).parents[1]
ROUNDS = 5
DEADLINE_S = 30
IDLE_S = 1.0
# The safe path keeps an uncompiled checkout in the current folder from shadowing the installed package.
ENVIRONMENT = {"AERON_DIR_DELETE_ON_SHUTDOWN": "true", "PYTHONSAFEPATH": "1"}
OUR_DRIVER = [sys.executable, "-m", "aeron_core", "driver"]
C_DRIVER = """
import signal, sys, threading
import pyaeron
stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stop.set())
driver = pyaeron.MediaDriver(dir=sys.argv[1], dir_delete_on_start=False, dir_delete_on_shutdown=True)
stop.wait()
driver.close()
"""
OUR_EMBEDDED = """
import json, time
started = time.perf_counter()
from aeron_core import MediaDriver
imported = time.perf_counter()
driver = MediaDriver.launch_embedded()
launched = time.perf_counter()
driver.close()
closed = time.perf_counter()
print(json.dumps([imported - started, launched - imported, closed - launched]))
"""
OUR_IMPORT = "import aeron_core, time; print(time.process_time())"
OUR_FIRST_MESSAGE = """
import json, time
import aeron_core
received = []
with aeron_core.MediaDriver.launch_embedded() as driver, aeron_core.connect(driver.aeron_dir) as aeron:
    subscription = aeron.add_subscription("aeron:ipc", 1001)
    publication = aeron.add_publication("aeron:ipc", 1001)
    publication.await_connected(timeout=30)
    while publication.offer(b"hello") < 0:
        pass
    while not received:
        subscription.poll(lambda buffer, _: received.append(bytes(buffer)), 10)
    print(json.dumps(time.process_time()))
"""
C_IMPORT = "import pyaeron, time; print(time.process_time())"
C_EMBEDDED = """
import json, sys, time
started = time.perf_counter()
import pyaeron
imported = time.perf_counter()
driver = pyaeron.MediaDriver(dir=sys.argv[1], dir_delete_on_start=False, dir_delete_on_shutdown=True)
launched = time.perf_counter()
driver.close()
closed = time.perf_counter()
print(json.dumps([imported - started, launched - imported, closed - launched]))
"""
#: Commands, each with the directory of a live driver behind it if the last part is `--aeron-dir`.
COMMANDS = [
    ["--help"],
    ["plugins", "list"],
    ["stat", "--once", "--aeron-dir"],
    ["errors", "--aeron-dir"],
    ["loss", "--aeron-dir"],
    ["streams", "--aeron-dir"],
]

Figures = dict[str, float]


def await_true(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(
                f"error: no driver within {DEADLINE_S} s: run the driver alone to see its error, or try again when "
                "the machine is idle"
            )
        time.sleep(0.0005)


def has_heartbeat(cnc: Path) -> bool:
    """Whether the driver has consumed its command ring; the same bytes for all drivers.

    Source: CncFileDescriptor.java; ManyToOneRingBuffer of Agrona: the consumer's heartbeat follows the ring by 640
    bytes, and the ring, with a trailer of 768 bytes, follows the header of 128.
    """
    try:
        with cnc.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            version = int.from_bytes(mapped[0:4], "little")
            at = 128 + int.from_bytes(mapped[4:8], "little") - 768 + 640
            return version != 0 and int.from_bytes(mapped[at : at + 8], "little") > 0
    except (OSError, ValueError):
        # Not created, or of length 0 yet.
        return False


@contextmanager
def started(
    command: Sequence[object], directory: Path, variables: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a driver in `directory`, with additional variables, wait for its heartbeat, and terminate it at the end."""
    environment = {**os.environ, **ENVIRONMENT, "AERON_DIR": str(directory), **variables}
    process = subprocess.Popen([str(part) for part in command], env=environment, stdout=subprocess.DEVNULL)
    try:
        await_true(lambda: has_heartbeat(directory / "cnc.dat"))
        yield process
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def cpu_seconds(pid: int) -> float:
    """Return the processor time of all threads of a process, which is exact to the scheduler's clock."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def resident_mebibytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    (kibibytes,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
    return int(kibibytes) / 1024


def environment_of(root: Path) -> dict[str, str]:
    """Return the environment of all processes."""
    inherited = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, **ENVIRONMENT, "PYTHONPYCACHEPREFIX": str(root / "bytecode")}


def measure_standalone(command: Sequence[object], directory: Path, commands: bool) -> Figures:
    """Start a driver, connect our client to it, let it idle, and terminate it."""
    figures = {}
    environment = {**environment_of(directory.parent), "AERON_DIR": str(directory)}
    started = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], env=environment, stdout=subprocess.DEVNULL)
    try:
        await_true(lambda: has_heartbeat(directory / "cnc.dat"))
        figures["standalone: exec to heartbeat, ms"] = (time.perf_counter() - started) * 1000
        figures["standalone: processor time to heartbeat, ms"] = cpu_seconds(process.pid) * 1000
        with aeron_core.connect(directory) as aeron:
            # The driver has answered.
            aeron.add_counter(1001, b"", "connected")
            figures["standalone: exec to connected client, ms"] = (time.perf_counter() - started) * 1000
        time.sleep(IDLE_S)
        figures["standalone: resident when idle, MiB"] = resident_mebibytes(process.pid)
        if commands:
            figures |= measure_commands(directory, environment)
        stopped = time.perf_counter()
        process.send_signal(signal.SIGTERM)
        process.wait(DEADLINE_S)
        figures["standalone: SIGTERM to exit, ms"] = (time.perf_counter() - stopped) * 1000
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    return figures


def measure_embedded(python: object, importing: str, program: str, directory: Path) -> Figures:
    """Import the package in a new interpreter; then, in another one, also start and close a driver."""
    titles = ("import", "launch", "close")
    seconds = json.loads(output_of([str(python), "-c", importing], directory.parent))
    values = json.loads(output_of([str(python), "-c", program, str(directory)], directory.parent))
    figures = {f"embedded: {title}, ms": value * 1000 for title, value in zip(titles, values, strict=True)}
    return {"embedded: processor time of the bare import, ms": seconds * 1000, **figures}


def measure_first_message(root: Path) -> Figures:
    """Start a driver and a client in a new interpreter; return its processor time when the first message arrives."""
    seconds = json.loads(output_of([sys.executable, "-c", OUR_FIRST_MESSAGE], root))
    return {"embedded: processor time to the first message, ms": seconds * 1000}


def output_of(command: list[str], root: Path) -> str:
    return subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment_of(root)
    ).stdout


def measure_commands(directory: Path, environment: dict[str, str]) -> Figures:
    """Run each command of the command line; return the processor time of its process."""
    figures = {}
    for arguments in COMMANDS:
        command = [sys.executable, "-m", "aeron_core", *arguments]
        if arguments[-1] == "--aeron-dir":
            command.append(str(directory))
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(
                f"error: exit code {process.returncode}, must be 0; run the command alone to see its error: {command}"
            )
        title = " ".join(part for part in arguments if part != "--aeron-dir")
        figures[f"aeron-core {title}: processor time, ms"] = (usage.ru_utime + usage.ru_stime) * 1000
    return figures


def foreign_python(asked: Path | None) -> Path | None:
    """Return a Python with pyaeron, None if there is none."""
    if asked is not None:
        return asked
    if importlib.util.find_spec("pyaeron") is not None:
        return Path(sys.executable)
    kept = ROOT / ".venv-interop" / "bin" / "python"
    return kept if kept.exists() else None


def measure(theirs: Path | None, rounds: int) -> dict[str, list[Figures]]:
    """Return the figures of each round, per driver; the drivers take turns."""
    root = Path(tempfile.mkdtemp(prefix="aeron-start-up-", dir="/dev/shm"))
    found: dict[str, list[Figures]] = {"ours": []} | ({"C driver": []} if theirs else {})
    try:
        for index in track(range(rounds + 1), description="measuring", console=Console(stderr=True)):
            figures = measure_standalone(OUR_DRIVER, root / f"ours-{index}", commands=True)
            figures |= measure_embedded(
                sys.executable, OUR_IMPORT, OUR_EMBEDDED, root / f"our-embedded-{index}"
            )
            figures |= measure_first_message(root)
            found["ours"].append(figures)
            if theirs:
                directory = root / f"theirs-{index}"
                figures = measure_standalone([theirs, "-c", C_DRIVER, directory], directory, commands=False)
                figures |= measure_embedded(theirs, C_IMPORT, C_EMBEDDED, root / f"their-embedded-{index}")
                found["C driver"].append(figures)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return {name: figures[1:] for name, figures in found.items()}


def main() -> None:
    """Measure in rounds and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds (%(default)s)")
    parser.add_argument("--pyaeron", type=Path, metavar="PYTHON", help="a Python with pyaeron")
    parser.add_argument(
        "--json", action="store_true", help="print JSON: the median of each figure per driver, and the ratios"
    )
    options = parser.parse_args()
    theirs = foreign_python(options.pyaeron)
    rounds = measure(theirs, options.rounds)
    medians = {
        name: {title: statistics.median(each[title] for each in figures) for title in figures[0]}
        for name, figures in rounds.items()
    }
    if theirs:
        medians["ratio"] = {
            title: medians["ours"][title] / value for title, value in medians["C driver"].items()
        }
    if options.json:
        print(json.dumps(medians, indent=2))
        return
    load = os.getloadavg()[0]
    table = Table(title=f"start and stop, medians of {options.rounds} interleaved rounds, load {load:.1f}")
    table.add_column("")
    for name in medians:
        table.add_column(name, justify="right")
    for title, value in medians["ours"].items():
        others = [figures.get(title) for name, figures in medians.items() if name != "ours"]
        table.add_row(title, f"{value:,.1f}", *("" if other is None else f"{other:,.1f}" for other in others))
    Console(width=100).print(table)
    if theirs is None:
        print("found no pyaeron: `make bench` creates an environment with both")


if __name__ == "__main__":
    main()
