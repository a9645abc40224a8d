"""The Python code of the guides that no other test runs, on addresses of this machine; test_guide_code.py lists it."""

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import prometheus_client
import pytest

import aeron_core
from aeron_core import resilient
from aeron_core.observation import DriverObserver, Party, limitations
from aeron_core.observation.clients import clients_of
from aeron_core.recording import Archive

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
HOW_TO = DOCS / "how-to"
_PID = os.getpid()
#: A network that only this process uses; all of its addresses belong to this machine.
NETWORK = f"127.{14 + (_PID >> 14 & 0x3F)}.{_PID >> 6 & 0xFF}"
#: The last byte is odd, as that of the group of the page: the control frames are sent to the next address.
GROUP = f"239.{_PID >> 15 & 0xFF}.{_PID >> 7 & 0xFF}.{_PID << 1 & 0xFF | 1}"


def blocks_of(path):
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


def code_of(page, number=0):
    """Return a block of a how-to with addresses of this machine."""
    code = blocks_of(HOW_TO / page)[number]
    code = re.sub(
        r"\b(?:10\.0|192\.168)\.(\d)\.([1-9])\b",
        lambda found: f"{NETWORK}.{int(found[1]) * 10 + int(found[2])}",
        code,
    )
    code = code.replace("10.0.0.0/8", "127.0.0.1").replace("224.0.1.77", GROUP)
    return code.replace("localhost", f"{NETWORK}.1")


@pytest.fixture
def aeron(driver, monkeypatch):
    monkeypatch.setenv("AERON_DIR", str(driver.aeron_dir))
    with aeron_core.connect(driver.aeron_dir) as aeron:
        yield aeron


def run(code, **names):
    """Run code of a guide and return its names."""
    exec(code, names)
    return names


def received(publication, subscription, message=b"hello from the publication"):
    """Send a message, and return what the subscription receives, and its header's reserved value."""
    found = []
    deadline_s = time.monotonic() + 30
    publication.await_connected(timeout=30)
    publication.send(message, timeout=30)
    while not found:
        assert time.monotonic() < deadline_s
        subscription.poll(lambda buffer, header: found.append((bytes(buffer), header.reserved_value)))
    return found[0]


def test_the_example_of_the_front_page_runs(capsys):
    (example,) = blocks_of(DOCS / "index.md")

    run(example.replace("localhost", f"{NETWORK}.1"))

    assert capsys.readouterr().out == "b'hello'\n"


@pytest.mark.system
def test_the_slow_subscriber_of_the_guide_holds_a_publisher_back(aeron, driver):
    environment = {"AERON_DIR": str(driver.aeron_dir), "AERON_CLIENT_NAME": "slow"}
    process = subprocess.Popen(
        [sys.executable, "-c", code_of("see-what-runs.md", 0)], env=os.environ | environment
    )
    try:
        publication = aeron.add_publication("aeron:ipc", 1001)
        publication.await_connected(timeout=30)
        observer = DriverObserver(driver.aeron_dir)
        deadline_s = time.monotonic() + 30
        # The conductor of a client writes its name after the first command.
        while True:
            publication.offer_many([bytes(60_000)] * 100)
            limit = limitations(observer.snapshot(), observer.snapshot())[0]
            if limit.client is not None and limit.client.name:
                break
            assert time.monotonic() < deadline_s
    finally:
        process.kill()
        process.communicate()

    assert (limit.party, limit.client.name) == (Party.SUBSCRIBER, "slow")


def test_a_client_of_the_guide_has_a_name_in_the_directory_of_the_environment(aeron):
    with run(code_of("see-what-runs.md", 1))["aeron"] as named:
        named.add_subscription("aeron:ipc", 7)
        deadline_s = time.monotonic() + 30
        while not any(client.name == "app" for client in clients_of(aeron.counters_reader, 0).values()):
            assert time.monotonic() < deadline_s


def test_tags_of_the_guide_name_a_channel_and_a_session(aeron):
    names = run(code_of("channel-and-session-tags.md"), aeron=aeron)

    assert names["same_session"].session_id == names["first"].session_id
    endpoint = f"aeron:udp?endpoint={NETWORK}.2:20121"
    for name, stream_id in (("first", 1001), ("same_channel", 1002), ("same_session", 1003)):
        subscription = aeron.add_subscription(endpoint, stream_id)
        assert received(names[name], subscription)


def test_drivers_of_the_guide_to_embedding_run(tmp_path):
    embedded, launched, invoked = (
        code_of("embed-a-driver.md", number).replace("/dev/shm/orders", str(tmp_path / f"driver-{number}"))
        for number in range(3)
    )

    assert not run(embedded)["driver"].aeron_dir.exists()
    with run(launched, aeron_core=aeron_core)["driver"] as driver:
        assert driver.aeron_dir == tmp_path / "driver-1"
        assert driver.settings.term_buffer_length == 4 << 20
    # The loop ends when its condition does, after a stream of the client has been added.
    added = []

    class Running:
        def __bool__(self):
            if not added:
                added.append(names["aeron"].add_subscription("aeron:ipc", 1001))
            return not added[1:]

    names = {"aeron_core": aeron_core, "running": Running(), "my_own_work": lambda: added.append(1) or 1}
    exec(invoked, names)
    assert names["work"] >= 1
    names["aeron"].close()
    names["driver"].close()


def test_timestamps_of_the_guide_are_in_the_message(aeron):
    before_ns = time.time_ns()

    names = run(code_of("measure-latency.md"), aeron=aeron)
    message, sent_ns = received(names["publication"], names["subscription"])

    received_ns = int.from_bytes(message[:8], "little")
    assert before_ns <= sent_ns <= time.time_ns()
    assert before_ns <= received_ns <= time.time_ns()


def test_the_collector_of_the_guide_has_metrics(monkeypatch):
    names = []

    class Registry:
        def register(self, collector):
            names.extend(metric.name for metric in collector.collect())

    monkeypatch.setattr(prometheus_client, "REGISTRY", Registry())

    run(code_of("monitor-drivers.md"))

    assert "aeron_driver_bytes_sent" in names


def test_the_subscription_of_the_guide_has_two_destinations(aeron):
    subscription = run(code_of("multi-destination-subscriptions.md"), aeron=aeron)["subscription"]

    for address in (12, 22):
        publication = aeron.add_publication(f"aeron:udp?endpoint={NETWORK}.{address}:20121", 1001)
        assert received(publication, subscription, b"%d" % address)[0] == b"%d" % address
        publication.close()


def multicast(aeron, code):
    names = run(code, aeron=aeron)
    return received(names["publication"], aeron.add_subscription(names["channel"], 1001))


def dynamic(aeron, code):
    names = run(code, aeron=aeron)
    return received(names["publication"], names["subscription"])


def manual(aeron, code):
    subscription = aeron.add_subscription(f"aeron:udp?endpoint={NETWORK}.2:20121", 1001)
    added, end, removed = code.partition("publication.remove_destination")
    names = run(added, aeron=aeron)
    messages = received(names["publication"], subscription)
    exec(f"{end}{removed}", names)
    return messages


@pytest.mark.parametrize("connect", [multicast, dynamic, manual])
def test_channels_of_the_guide_to_multicast_connect(aeron, connect):
    number = [multicast, dynamic, manual].index(connect)

    assert connect(aeron, code_of("multicast-and-mdc.md", number))


def test_a_recording_of_the_guide_is_read_and_leased(tmp_path, capsys):
    read, lease, record = (
        code_of("record-a-stream.md", number).replace("/var/lib/recordings", str(tmp_path / "recordings"))
        for number in range(3)
    )
    begin, _, _ = record.rpartition("    ...")
    body = """
    with aeron_core.connect(driver.aeron_dir) as aeron:
        publication = aeron.add_publication("aeron:ipc", 7)
        publication.await_connected(timeout=30)
        publication.send(b"recorded", timeout=30)
        await_recording()
"""

    def await_recording():
        deadline_s = time.monotonic() + 30
        while not any(each.position for each in Archive.open(tmp_path / "recordings").recordings()):
            assert time.monotonic() < deadline_s
            time.sleep(0.01)

    names = {"MediaDriver": aeron_core.MediaDriver, "aeron_core": aeron_core}
    names["await_recording"] = await_recording

    exec(begin.replace('"recordings"}', f'"{tmp_path}/recordings"}}') + body, names)
    exec(read, names)
    exec(lease, names | {"position": names["recording"].start_position, "time": time})

    assert capsys.readouterr().out == "64 b'recorded'\n"
    assert any("billing" in path.name for path in (tmp_path / "recordings").rglob("*"))


def test_response_channels_of_the_guide_use_shared_memory(aeron):
    service = aeron.add_subscription("aeron:ipc", 1001)

    names = run(code_of("response-channels.md", 2), aeron=aeron)
    received(names["requests"], service)
    [image] = service.images
    channel = run(code_of("response-channels.md", 3), image=image)["channel"]

    assert received(aeron.add_exclusive_publication(channel, 1002), names["responses"])


def test_a_stream_flows_with_the_profile_of_the_guide(tmp_path):
    secret = tmp_path / "orders.key"
    secret.touch(mode=0o600)
    secret.write_text(f"{os.urandom(32).hex()}\n")
    expression = code_of("secure-channels.md").replace("/etc/aeron/orders.key", str(secret))

    with (
        eval(expression, {"aeron_core": aeron_core}) as driver,
        aeron_core.connect(driver.aeron_dir) as aeron,
    ):
        channel = f"aeron:udp?endpoint={NETWORK}.1:20121|security=orders"
        subscription = aeron.add_subscription(channel, 1001)
        assert received(aeron.add_publication(channel, 1001), subscription)


@pytest.mark.system
def test_the_logging_configuration_of_the_guide_ships_to_logstash(aeron):
    server = f"{NETWORK}.1"
    subscription = aeron.add_subscription(f"aeron:lumberjack?endpoint={server}:5044", 1001)
    code = code_of("ship-logs.md", 2).replace("logstash", server)
    # By default a program waits for two seconds at its end: too short for a connection of a busy machine.
    code = code.replace('"embedded": True,', '"embedded": True, "close_timeout": 60,')
    assert "close_timeout" in code
    program = f"{code}\nlogging.warning('disk full')\n"
    # In a process of its own: it configures the root logger.
    process = subprocess.Popen([sys.executable, "-c", program])
    events = []
    try:
        deadline_s = time.monotonic() + 60
        while not events:
            assert time.monotonic() < deadline_s
            subscription.poll(lambda buffer, header: events.append(bytes(buffer)))
        # The acknowledgement follows the position of the subscription, and the program ends with it.
        while process.poll() is None:
            assert time.monotonic() < deadline_s
            subscription.poll(lambda buffer, header: events.append(bytes(buffer)))
    finally:
        process.kill()
        process.wait()

    assert process.returncode == 0
    assert b"disk full" in events[0]


@pytest.mark.parametrize(
    ("page", "name"), [("spy-subscriptions.md", "spy"), ("untethered-subscriptions.md", "subscription")]
)
def test_a_subscription_of_a_guide_receives_the_publication(aeron, page, name):
    subscription = run(code_of(page), aeron=aeron)[name]
    endpoint = f"aeron:udp?endpoint={NETWORK}.2:20121"
    if name == "spy":
        # A spy does not connect a publication.
        aeron.add_subscription(endpoint, 1001)

    assert received(aeron.add_publication(endpoint, 1001), subscription)


def test_clients_of_the_guide_to_restarts_run(aeron, capsys):
    ticker, policy, asynchronous = (code_of("survive-a-driver-restart.md", number) for number in range(3))

    run(ticker)
    # The first one is dropped if the subscription is not yet connected.
    assert capsys.readouterr().out.splitlines()[-1].endswith(" b'tick 2'")
    with run(policy)["aeron"] as client:
        assert isinstance(client, resilient.ResilientAeron)
    # In a thread without an event loop.
    thread = threading.Thread(target=run, args=(asynchronous,))
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert capsys.readouterr().out == "b'hello'\n"


@pytest.mark.system
def test_the_compiled_strategy_of_the_guide_is_built_and_used(tmp_path):
    text = (HOW_TO / "write-a-flow-control.md").read_text(encoding="utf-8")
    (tmp_path / "generous_flow").mkdir()
    names = []
    for name, code in re.findall(r"```(?:python|cython)\n# (\S+)\n(.*?)```", text, re.DOTALL):
        if not name.endswith("_flow.py"):
            (tmp_path / name).write_text(code, encoding="utf-8")
            names.append(name)
    assert names == ["generous_flow/strategy.py", "generous_flow/strategy.pxd", "setup.py"]
    (tmp_path / "generous_flow" / "__init__.py").touch()
    program = """
from aeron_core.protocol.frames import StatusMessage
from aeron_core.spi.flow_control import adapt_flow_control
from aeron_core.testing import FlowControlProbe
from aeron_core.testing.conformance import FlowControlConformance
from aeron_core._native import wire
from generous_flow.strategy import AERON_CORE_SPI_VERSION, GenerousFlowControl

strategy = GenerousFlowControl(FlowControlConformance.params)
assert adapt_flow_control(strategy, report=print) is strategy
assert AERON_CORE_SPI_VERSION == wire.SPI_VERSION
print(FlowControlProbe(strategy).on_status_message(StatusMessage(receiver_window=1000), 0, 0, 0))
"""

    subprocess.run(
        [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"],
        cwd=tmp_path,
        env=os.environ | {"CFLAGS": "-O0"},
        check=True,
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True
    )

    assert done.stdout == "2000\n"
