"""The shell commands of the guides run on loopback, or are listed here with the reason.

Each scenario executes blocks of a page in a folder of its own, in their order. A command that does not end by itself
runs until the scenario is over, and must then end without an error.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HOW_TO = ROOT / "docs" / "how-to"
PAGES = ("README.md", "docs/index.md", "docs/install.md", "docs/tutorial.md")
TIMEOUT_S = 120
#: Commands that run until they are terminated.
SERVICES = ("archive", "dashboard", "device", "driver", "pong", "record", "ship", "sub")
SMALL = {
    "AERON_TERM_BUFFER_LENGTH": "64k",
    "AERON_IPC_TERM_BUFFER_LENGTH": "64k",
    "AERON_COUNTERS_BUFFER_LENGTH": "1m",
    "AERON_THREADING_MODE": "SHARED",
    # Drivers of a page run beside each other.
    "AERON_SHARED_IDLE_STRATEGY": "sleep-ns",
    "AERON_SHARED_IDLE_STRATEGY_INIT_ARGS": "2ms",
}

#: Blocks that other tests run.
TESTED = {
    "docs/how-to/record-and-plot-counters.md": (
        "tests/test_readme.py::test_commands_and_example_of_the_guide_to_counters_run",
        {0, 1, 2},
    ),
}
PIP = "downloads packages; tests/test_distributions.py installs the wheel"
ROOT_ONLY = "changes the machine, as root"
#: Blocks that no test runs, with the reason.
NOT_RUN = {
    ("README.md", 0): f"{PIP}, tests/cli/test_demo.py runs the demo",
    ("README.md", 2): "runs all tests",
    ("docs/install.md", 0): f"{PIP}, tests/cli/test_demo.py runs the demo",
    ("docs/install.md", 1): PIP,
    ("docs/tutorial.md", 0): PIP,
    ("docs/tutorial.md", 1): "tests/cli/test_demo.py runs the demo",
    (
        "docs/how-to/measure-latency.md",
        0,
    ): "takes minutes; tests/cli/test_bench.py runs it for a shorter time",
    ("docs/how-to/measure-latency.md", 1): "needs two hosts; tests/cli/test_bench.py measures another driver",
    ("docs/how-to/prepare-a-machine.md", 0): ROOT_ONLY,
    ("docs/how-to/prepare-a-machine.md", 1): ROOT_ONLY,
    ("docs/how-to/query-with-spark.md", 0): PIP,
    (
        "docs/how-to/query-with-spark.md",
        2,
    ): "needs Spark; tests/plugins/spark/test_guide.py runs the pipeline",
    ("docs/how-to/record-a-stream.md", 5): "needs S3; tests/recording/storage has a server of objects",
    ("docs/how-to/run-in-containers.md", 0): "needs a container runtime; tests/deploy checks the files",
    ("docs/how-to/secure-channels.md", 1): "needs another host",
    ("docs/how-to/secure-channels.md", 8): "needs other hosts; tests/netns has sealed multicast channels",
    ("docs/how-to/see-what-runs.md", 0): "needs a terminal; tests/cli/top runs the view",
    ("docs/how-to/see-what-runs.md", 1): "needs terminals; tests/test_guide_examples.py runs the program",
    ("docs/how-to/talk-to-nng.md", 0): PIP,
    (
        "docs/how-to/write-a-name-resolver.md",
        0,
    ): "needs the plugin of the page; tests/test_readme.py runs its code",
}
#: Lines that are left out of blocks that run.
LINES_NOT_RUN = {
    "aeron-core pipeline run trades.toml --metrics 127.0.0.1:9465": "needs Spark",
    "pip install '.[otel]'": PIP,
    "aeron-core top --history counters.arrows": "needs a terminal",
    "aeron-core dashboard counters.arrows": "tests/cli/dashboard/test_serving.py; a dashboard takes seconds to start",
    "aeron-core dashboard --aeron-dir /dev/shm/aeron-root --aeron-dir /dev/shm/aeron-app --interval 500ms": (
        "as the line before it, with two drivers, which tests/cli/dashboard has; a dashboard takes seconds to start"
    ),
}


@dataclass(frozen=True)
class Scenario:
    """Blocks of one page, and what they need beside."""

    page: str
    blocks: tuple[int, ...]
    changes: dict[str, str] = field(default_factory=dict)  # text of the page -> text that runs
    has_driver: bool = False  # whether a driver runs before
    files: dict[str, str] = field(default_factory=dict)
    #: Commands that run before a block.
    before: dict[int, str] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)  # standard input of a command, which the block shows
    codes: tuple[int, ...] = (0,)
    shown: tuple[str, ...] = ()  # parts of the outputs


# An archive has one recorder at a time.
RECORDINGS = {"/var/lib/recordings --retain": "retained --retain", "/var/lib/recordings": "recordings"}
PORT, OTHER_PORT, TCP_PORT = "localhost:{udp}", "localhost:{udp2}", "{tcp}"
SCENARIOS = [
    Scenario(
        "docs/how-to/troubleshoot.md",
        (0,),
        {
            "AERON_DIR=/dev/shm/outgoing aeron-core driver": "aeron-core driver -Daeron.dir={folder}/outgoing",
            "AERON_DIR=/dev/shm/incoming aeron-core driver": "aeron-core driver -Daeron.dir={folder}/incoming",
        },
    ),
    Scenario("README.md", (1,), {"localhost:20121": PORT}, shown=("hello",)),
    Scenario(
        "docs/tutorial.md",
        (2, 3, 4, 5),
        {"localhost:20121": PORT, "/dev/shm/tutorial": "{folder}/driver"},
        inputs={"aeron-core pub": "good morning\n"},
        shown=("good morning", "pub-pos"),
    ),
    Scenario(
        "docs/how-to/monitor-drivers.md",
        (0, 1, 2, 3),
        {
            "127.0.0.1:9464": "127.0.0.1:0",
            "127.0.0.1:9466": "127.0.0.1:0",
            "0.0.0.0:9464 ": "0.0.0.0:0 -Daeron.dir={folder}/second ",
            "driver --otlp": "driver -Daeron.dir={folder}/third --otlp",
            "/dev/shm/aeron-orders": "{folder}/driver",
            "/var/lib/node_exporter": "{folder}",
        },
    ),
    Scenario(
        "docs/how-to/prepare-a-machine.md", (2,), {"192.168.0.2:20121": "127.0.0.1:{udp}"}, codes=(0, 1)
    ),
    Scenario("docs/how-to/query-with-spark.md", (1,), {"localhost:20121": PORT, "seq 100000": "seq 1000"}),
    Scenario(
        "docs/how-to/receive-from-beats.md", (0,), {"0.0.0.0:5044": f"127.0.0.1:{TCP_PORT}", "/var/lib/": ""}
    ),
    Scenario(
        "docs/how-to/record-a-stream.md",
        (0, 1, 2, 3, 4),
        {**RECORDINGS, "localhost:20121": PORT, "localhost:20122": OTHER_PORT},
        before={
            # More than the page exports.
            1: "seq 1000 | aeron-core pub aeron:udp?endpoint=localhost:{udp} 1001",
            2: "aeron-core sub aeron:udp?endpoint=localhost:{udp2} 1001",
        },
        shown=("verified 1 recording",),
    ),
    Scenario(
        "docs/how-to/run-a-driver.md",
        (0,),
        {"/dev/shm/orders": "{folder}/driver"},
        files={"low-latency.properties": "aeron.term.buffer.length=64k\n"},
    ),
    Scenario(
        "docs/how-to/secure-channels.md",
        (0, 2, 3, 4, 5, 6, 7),
        {
            "/etc/aeron/": "{folder}/",
            "0.0.0.0:20121": "127.0.0.1:{udp}",
            "other:20121": "127.0.0.1:{udp}",
            "AERON_SECURITY_PROFILES=": "export AERON_SECURITY_PROFILES=",
        },
        files={"driver.toml": '[security.orders]\nsecret_file = "{folder}/orders.key"\n'},
        inputs={"aeron-core pub": "secret\n"},
        shown=("fingerprint", "public-key"),
    ),
    Scenario("docs/how-to/see-what-runs.md", (2,), {"--duration 10s": "--duration 200ms"}, has_driver=True),
    Scenario(
        "docs/how-to/serve-an-archive.md",
        (4, 0, 1, 2, 3),
        {
            "/data/archive --": "{folder}/{number} --",
            "/data/": "{folder}/",
            "localhost:8010": "localhost:{port}",
            "archive:8010": "localhost:{port}",
            "/dev/shm/aeron-archive": "{folder}/embedded",
            "/etc/aeron/": "{folder}/",
        },
        files={"users.toml": '[users.feed]\nsecret = "c6f1d3a0b5e24f7f9a1c"\n'},
        has_driver=True,
        before={
            4: "{ aeron-core record aeron:ipc 1001 --to recordings --timeout 1s & }; "
            "echo hello | aeron-core pub aeron:ipc 1001 && wait $!"
        },
    ),
    Scenario(
        "docs/how-to/ship-logs.md",
        (0,),
        {"/var/log/myapp": "{folder}", "logstash:5044": f"127.0.0.1:{TCP_PORT}"},
        files={"one.log": "a line\n"},
    ),
    Scenario(
        "docs/how-to/talk-to-nng.md",
        (1,),
        {"0.0.0.0:5558": f"127.0.0.1:{TCP_PORT}", "inner:5555": "127.0.0.1:9"},
        has_driver=True,
    ),
    Scenario(
        "docs/how-to/use-aeron-archive.md",
        (0,),
        {"archive:8010": PORT},
        has_driver=True,
        before={0: "aeron-core archive own --control-channel aeron:udp?endpoint=localhost:{udp}"},
    ),
    Scenario(
        "docs/how-to/watch-in-a-browser.md",
        (0, 1, 2, 3),
        {
            "aeron-core dashboard\n": "aeron-core dashboard --listen 127.0.0.1:0\n",
            "dashboard --from": "dashboard --listen 127.0.0.1:0 --from",
            "0.0.0.0:8900": "0.0.0.0:0",
            "--duration 10s": "--duration 200ms",
        },
        has_driver=True,
        before={
            3: "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout server.key "
            "-out server.pem -subj /CN=localhost -days 1"
        },
    ),
]


def blocks_of(page: str) -> list[str]:
    """Return the shell blocks of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"```(?:sh|shell|console)\n(.*?)```", text, re.DOTALL)


def commands_of(block: str) -> list[str]:
    """Return the commands of a block: those after a prompt if there is one, without comments."""
    prompts = re.findall(r"^\w*\$ +(.*)$", block, re.MULTILINE)
    lines = prompts or block.replace("\\\n", " ").splitlines()
    commands = [re.sub(r"\s+#.*", "", line).strip() for line in lines]
    return [line for line in commands if line and line not in LINES_NOT_RUN]


def test_every_block_of_commands_runs_or_has_a_reason():
    pages = [*PAGES, *(path.relative_to(ROOT).as_posix() for path in sorted(HOW_TO.glob("*.md")))]
    written = {(page, number) for page in pages for number in range(len(blocks_of(page)))}
    run = [(scenario.page, number) for scenario in SCENARIOS for number in scenario.blocks]
    run += [(page, number) for page, (_, numbers) in TESTED.items() for number in numbers]

    assert len(run) == len(set(run))
    assert set(run) & NOT_RUN.keys() == set()
    assert set(run) | NOT_RUN.keys() == written
    texts = "".join((ROOT / page).read_text(encoding="utf-8") for page in pages)
    assert [line for line in LINES_NOT_RUN if line not in texts] == []


class Shell:
    """Commands in a folder, with a driver of their own; closes what runs at the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.output = ""
        program = folder / "bin" / "aeron-core"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m aeron_core "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        self.environment = os.environ | SMALL
        self.environment["PATH"] = f"{program.parent}:{os.environ['PATH']}"
        self.environment["AERON_DIR"] = str(folder / "driver")
        self._services: list[tuple[str, subprocess.Popen[str], Path]] = []

    def run(self, command: str, given: str, codes: tuple[int, ...]) -> None:
        """Run a command to its end, or until it is ready if it is a service."""
        exported = re.fullmatch(r"export (\w+)='?([^']*)'?", command)
        if exported is not None:
            self.environment[exported[1]] = exported[2]
        elif re.match(rf"(?:\w+=\S+ )*aeron-core (?:{'|'.join(SERVICES)})\b", command):
            self._start(command.removesuffix("&").strip())
        else:
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", command],
                input=given,
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
                cwd=self.folder,
                env=self.environment,
            )
            assert done.returncode in codes, f"{command}: {done.stderr}{done.stdout}"
            self.output += done.stdout + done.stderr

    def _start(self, command: str) -> None:
        log = self.folder / f"service-{len(self._services)}.log"
        with log.open("w", encoding="utf-8") as file:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {command}"],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                text=True,
                cwd=self.folder,
                env=self.environment,
            )
        self._services.append((command, process, log))
        self._await(lambda: process.poll() is not None or self._is_ready(command, process.pid))

    def _is_ready(self, command: str, pid: int) -> bool:
        """Return whether a service has opened its streams, files or sockets; it ends orderly from then on."""
        if "aeron-core driver" in command:
            found = re.search(r"-Daeron\.dir=(\S+)", command)
            path = Path(found[1] if found else self.environment["AERON_DIR"])
            return (path / "cnc.dat").exists() and (path / "cnc.dat").stat().st_size > 0
        handlers = re.search(r"SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text(encoding="ascii"))
        # It handles SIGTERM: the interpreter has started, and the command runs.
        return handlers is not None and bool(int(handlers[1], 16) >> (signal.SIGTERM - 1) & 1)

    def _await(self, condition: Callable[[], bool]) -> None:
        deadline_s = time.monotonic() + TIMEOUT_S
        while not condition():
            assert time.monotonic() < deadline_s, "the service is not ready"
            time.sleep(0.01)

    def await_output(self, text: str) -> None:
        """Wait until a command has shown `text`."""
        self._await(lambda: text in self.output + self._logs())

    def _logs(self) -> str:
        return "".join(log.read_text(encoding="utf-8") for _, _, log in self._services)

    def close(self) -> list[str]:
        """End all services, the last one first, and return what has failed."""
        faults = []
        for command, process, log in reversed(self._services):
            if process.poll() is None:
                process.terminate()
            code = process.wait(TIMEOUT_S)
            text = log.read_text(encoding="utf-8")
            # As of a driver in C: its exit code is the number of the signal.
            if (
                code not in (0, 128 + signal.SIGTERM, signal.SIGTERM, -signal.SIGTERM)
                or "Traceback" in text
                or "error:" in text
            ):
                faults.append(f"{command}: exit code {code}: {text}")
        return faults


def free_port(kind: socket.SocketKind) -> int:
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.system
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.page)
def test_commands_of_a_page_run(scenario, tmp_path):
    blocks = blocks_of(scenario.page)
    names = {
        "folder": str(tmp_path),
        "udp": free_port(socket.SOCK_DGRAM),
        "udp2": free_port(socket.SOCK_DGRAM),
        "tcp": free_port(socket.SOCK_STREAM),
    }

    def filled(text: str, number: int = 0) -> str:
        values = names | {"number": f"archive-{number}", "port": free_port(socket.SOCK_DGRAM)}
        return re.sub(r"\{(\w+)\}", lambda match: str(values.get(match[1], match[0])), text)

    for name, text in scenario.files.items():
        (tmp_path / name).write_text(filled(text), encoding="utf-8")
    shell = Shell(tmp_path)
    try:
        if scenario.has_driver:
            shell.run("aeron-core driver", "", ())
        for number in scenario.blocks:
            if number in scenario.before:
                shell.run(filled(scenario.before[number]), "", (0,))
            for written in commands_of(blocks[number]):
                command = f"{written}\n"
                for before, after in scenario.changes.items():
                    command = command.replace(before, after)
                given = next((text for start, text in scenario.inputs.items() if start in written), "")
                shell.run(filled(command.strip(), number), given, scenario.codes)
        for text in scenario.shown:
            shell.await_output(text)
    finally:
        faults = shell.close()
    assert faults == []
