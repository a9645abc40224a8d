"""The code examples of the documentation run unchanged."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import aeron_core

ROOT = Path(__file__).parent.parent


def python_blocks(path: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.system
def test_readme_example_runs():
    (example,) = python_blocks(ROOT / "README.md")
    # A loopback address that only this process uses, so that the port of the page is free.
    host = f"127.12.{os.getpid() >> 8 & 0xFF}.{os.getpid() & 0xFF}"

    done = subprocess.run(
        [sys.executable, "-c", example.replace("localhost", host)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout == "[b'message 0', b'message 1', b'message 2']\n"


@pytest.mark.system
def test_tutorial_example_runs(tmp_path):
    (example,) = python_blocks(ROOT / "docs" / "tutorial.md")
    program = (
        "import os, aeron_core\n"
        "with aeron_core.MediaDriver.launch_embedded() as driver:\n"
        "    os.environ['AERON_DIR'] = str(driver.aeron_dir)\n"
        f"    exec({example!r})\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout == "64 b'hello'\n"


@pytest.mark.system
@pytest.mark.parametrize(
    ("plugin", "tests", "count"),
    [
        ("write-a-flow-control.md", "test-a-plugin.md", 13),
        ("write-a-name-resolver.md", "write-a-name-resolver.md", 4),
        ("write-a-congestion-control.md", "write-a-congestion-control.md", 7),
        ("write-a-medium.md", "write-a-medium.md", 8),
    ],
)
def test_plugin_guides_pass_their_own_tests(plugin, tests, count, tmp_path):
    how_to = ROOT / "docs" / "how-to"

    assert_tests_pass(python_blocks(how_to / plugin)[:1] + python_blocks(how_to / tests), count, tmp_path)


@pytest.mark.system
def test_the_flow_control_of_some_receivers_passes_its_own_tests(tmp_path):
    assert_tests_pass(python_blocks(ROOT / "docs" / "how-to" / "write-a-flow-control.md")[1:3], 17, tmp_path)


def assert_tests_pass(blocks, count, tmp_path):
    """Write the blocks to the files that their first lines name, and run the tests in them."""
    for block in blocks:
        name = re.match(r"# (\w+\.py)\n", block)[1]
        (tmp_path / name).write_text(block, encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=tmp_path,
    )

    assert done.returncode == 0, done.stdout
    assert f"{count} passed" in done.stdout


@pytest.mark.system
def test_response_channel_examples_run():
    # A loopback address that only this process uses, so that the ports of the page are free.
    host = f"127.9.{os.getpid() >> 8 & 0xFF}.{os.getpid() & 0xFF}"
    respond, ask = (
        block.replace("localhost", host)
        for block in python_blocks(ROOT / "docs" / "how-to" / "response-channels.md")[:2]
    )
    with aeron_core.MediaDriver.launch_embedded() as driver:
        environment = os.environ | {"AERON_DIR": str(driver.aeron_dir)}
        responder = subprocess.Popen([sys.executable, "-c", respond], env=environment, stderr=subprocess.PIPE)
        try:
            asked = [
                subprocess.run(
                    [sys.executable, "-c", ask],
                    capture_output=True,
                    text=True,
                    timeout=60,
                    check=False,
                    env=environment,
                )
                for _ in range(2)
            ]
            assert responder.poll() is None, responder.stderr.read()
        finally:
            responder.kill()
            responder.communicate()

    assert [(done.returncode, done.stdout) for done in asked] == [(0, "b'HELLO?'\n")] * 2


ENDLESS = r"while True:|for message in subscription\.messages\(\):"
LISTENERS = [
    pytest.param(block, id=f"{path.stem}-{number}")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for number, block in enumerate(python_blocks(path))
    if re.search(ENDLESS, block)
]


def test_examples_with_endless_loops_are_found():
    assert len(LISTENERS) >= 2


@pytest.mark.system
@pytest.mark.usefixtures("python_interrupts")
@pytest.mark.parametrize("example", LISTENERS)
def test_an_interrupt_ends_an_endless_example_quietly(driver, example):
    host = f"127.11.{os.getpid() >> 8 & 0xFF}.{os.getpid() & 0xFF}"
    program = re.sub(
        rf"^( *)({ENDLESS})",
        r"\1print('listening', flush=True)\n\1\2",
        example.replace("localhost", host).replace("127.0.0.1", host),
        flags=re.MULTILINE,
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"AERON_DIR": str(driver.aeron_dir)},
    )
    try:
        assert process.stdout.readline() == "listening\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()

    assert (process.returncode, errors) == (0, "")


@pytest.mark.system
def test_asyncio_examples_run(driver):
    environment = os.environ | {"AERON_DIR": str(driver.aeron_dir)}

    shown = [
        subprocess.run(
            [sys.executable, "-c", example],
            stdout=subprocess.PIPE,
            text=True,
            timeout=60,
            check=True,
            env=environment,
        ).stdout
        for example in python_blocks(ROOT / "docs" / "how-to" / "use-asyncio.md")
    ]

    assert shown == [
        "64 b'message 0'\n128 b'message 1'\n192 b'message 2'\n",
        "64 b'one'\n128 b'two'\n192 b'three'\n",
    ]


def test_embedding_example_times_out_without_a_driver(tmp_path):
    example = python_blocks(ROOT / "docs" / "how-to" / "embed-a-driver.md")[-1]

    with pytest.raises(aeron_core.DriverTimeoutError, match="500 ms"):
        exec(example.replace("/dev/shm/orders", str(tmp_path / "no-driver")), {"aeron_core": aeron_core})


def test_shipping_example_ships_a_line(driver, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.log").write_text("one\n")
    example = python_blocks(ROOT / "docs" / "how-to" / "ship-logs.md")[0]
    with aeron_core.connect(driver.aeron_dir) as aeron:
        subscription = aeron.add_subscription("aeron:ipc", 1001)

        exec(example, {"aeron": aeron})

        messages = []
        while not messages:
            subscription.poll(lambda buffer, header: messages.append(bytes(buffer)))
    assert b'"message":"one"' in messages[0]


def test_logging_example_publishes_a_record(driver):
    example = python_blocks(ROOT / "docs" / "how-to" / "ship-logs.md")[1]
    with aeron_core.connect(driver.aeron_dir) as aeron:
        subscription = aeron.add_subscription("aeron:ipc", 1001)

        subprocess.run(
            [sys.executable, "-c", example],
            check=True,
            timeout=60,
            env=os.environ | {"AERON_DIR": str(driver.aeron_dir)},
        )

        messages = []
        while not messages:
            subscription.poll(lambda buffer, header: messages.append(bytes(buffer)))
    assert b'"message": "sold shoes"' in messages[0]
    assert b'"extra": {"user": 7}' in messages[0]


@pytest.mark.system
def test_commands_and_example_of_the_guide_to_counters_run(driver, tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("pyarrow")
    guide = ROOT / "docs" / "how-to" / "record-and-plot-counters.md"
    # A loopback address that only this process uses, so that the default ports of ping and pong are free.
    host = f"127.13.{os.getpid() >> 8 & 0xFF}.{os.getpid() & 0xFF}"
    channels = (
        f"--ping-channel aeron:udp?endpoint={host}:20123 --pong-channel aeron:udp?endpoint={host}:20124"
    )
    program = f'"{sys.executable}" -m aeron_core'
    commands = [
        re.sub(
            r"^aeron-core ((ping|pong)?)",
            lambda match: f"{program} {match[1]} {channels * bool(match[1])} ",
            line.replace("--duration 30s", "--duration 1s"),
        )
        for block in re.findall(r"```sh\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL)
        for line in block.splitlines()
    ]
    with aeron_core.connect(driver.aeron_dir) as aeron:
        aeron.add_subscription("aeron:ipc", 1001)
        aeron.add_publication("aeron:ipc", 1001).offer(b"a message")

        done = subprocess.run(
            ["bash", "-ec", "\n".join(["trap 'kill $(jobs -p)' EXIT", *commands])],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            cwd=tmp_path,
            env=os.environ | {"AERON_DIR": str(driver.aeron_dir)},
        )
    assert done.returncode == 0, done.stderr
    assert len(commands) == 9
    pictures = {"counters.png", "stream.svg", "losses.svg", "latency.svg", "loss.svg", "lost.svg", "now.svg"}
    assert {path.name for path in tmp_path.iterdir()} == {"counters.arrows", *pictures}

    (example,) = python_blocks(guide)
    shown = subprocess.run(
        [sys.executable, "-c", example, "counters.arrows"],
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=True,
        cwd=tmp_path,
    ).stdout
    assert "nothing holds stream 1001 back" in shown
    assert "bytes sent per second" in shown
