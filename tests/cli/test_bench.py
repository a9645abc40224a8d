"""`aeron-core bench`, in a second: real drivers, real sockets, a real second process."""

import json
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from aeron_core.cli.bench.bench_run import (
    ROUNDS,
    MeasuredLatency,
    MeasuredRate,
    Measurement,
    address_towards,
    channel_of,
    results_of,
    steps,
)
from aeron_core.cli.bench.limits import RawLimits
from aeron_core.cli.bench.peer import BenchPeer, main
from aeron_core.cli.bench.peer_process import PeerProcess
from aeron_core.cli.bench.results import RoundTrips, Throughput, round_trip_rows, throughput_rows
from aeron_core.cli.messages.latency import Latencies
from aeron_core.errors import ClientError, ConfigurationError
from aeron_core.settings.aeron_dir import default_aeron_dir
from aeron_core.uri.addresses import HostPort


def latencies(*values_ns):
    found = Latencies()
    for value_ns in values_ns:
        found.add(value_ns)
    return found


def test_a_throughput_is_the_median_of_its_rounds_and_has_a_share_of_its_limit():
    limit = Throughput("memory copy", 1, rates=[1e9, 4e9, 2e9])
    result = Throughput("IPC, 100 B", 100, limit, rates=[1e6, 9e6, 5e6])

    assert result.messages_per_s == 5e6
    assert result.megabytes_per_s == 500
    assert result.share == 0.25
    assert list(throughput_rows([limit, result])) == [
        ("memory copy", "", "2,000.0", "", ""),
        ("IPC, 100 B", "5,000,000", "500.0", "memory copy", "25.0 %"),
    ]


def test_round_trips_are_medians_of_the_percentiles_of_their_rounds():
    limit = RoundTrips("raw UDP", rounds=[latencies(1000)])
    result = RoundTrips("UDP", limit, rounds=[latencies(2000), latencies(9000), latencies(4000)])

    assert result.percentile_us(50) == pytest.approx(4, rel=0.001)
    assert result.share == pytest.approx(0.25, rel=0.001)
    (row,) = round_trip_rows([result])
    assert row[0] == "UDP"
    assert row[-2:] == ("raw UDP", "25.0 %")


def test_a_result_without_rounds_has_no_share():
    limit = Throughput("memory copy", 1)

    assert Throughput("IPC", 32, limit).share is None
    assert RoundTrips("UDP", RoundTrips("raw UDP")).share is None


def test_measurements_alternate_and_the_warm_up_does_not_count():
    asked = []
    measurements: list[Measurement] = [
        MeasuredRate(Throughput("first", 1), lambda seconds: asked.append(("first", seconds)) or 1.0),
        MeasuredLatency(
            RoundTrips("second"), lambda seconds: asked.append(("second", seconds)) or latencies(10)
        ),
    ]

    done = list(steps(10.4, measurements))

    assert len(done) == 2 * (ROUNDS + 1)
    assert [name for name, _ in asked] == ["first", "second"] * (ROUNDS + 1)
    assert [seconds for _, seconds in asked[:3]] == pytest.approx([0.2, 0.2, 1.0])
    first, second = results_of(measurements)
    assert len(first.rates) == len(second.rounds) == ROUNDS


@pytest.mark.parametrize(
    ("address", "channel"),
    [
        (HostPort("10.0.0.1", 5), "aeron:udp?endpoint=10.0.0.1:5"),
        (HostPort("::1", 5), "aeron:udp?endpoint=[::1]:5"),
    ],
)
def test_an_address_becomes_a_channel(address, channel):
    assert channel_of(address) == channel


def test_answers_go_to_the_address_of_the_route():
    assert address_towards(HostPort("127.0.0.1", 20123), 20124) == ("127.0.0.1", 20124)
    with pytest.raises(ConfigurationError, match=r"--endpoint=no-such-host\.invalid:1"):
        address_towards(HostPort("no-such-host.invalid", 1), 20124)
    with pytest.raises(ConfigurationError, match="no name of a host"):
        address_towards(HostPort("a" * 5000, 1), 20124)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--seconds", "0"], "--seconds=0.0: must be more than 0"),
        (["--plot", "plot.pdf"], "--plot=plot.pdf: must end with .png or .svg"),
        (["--answers", "127.0.0.1:1"], "--answers=127.0.0.1:1: must be given with --endpoint"),
        (["--endpoint", "nowhere"], "--endpoint=nowhere: "),
        (["--endpoint", "127.0.0.1:1", "--answers", "x"], "--answers=x: "),
    ],
)
def test_wrong_options_are_usage_errors(aeron, arguments, text):
    outcome = aeron("bench", *arguments)

    assert outcome.code == 2
    assert text in outcome.err


def test_without_matplotlib_a_plot_is_refused_before_the_measurement(aeron, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    outcome = aeron("bench", "--plot", "plot.png")

    assert outcome.code == 2
    assert "pip install 'aeron-core[plots]'" in outcome.err


@pytest.mark.system
def test_this_machine_is_measured(aeron, tmp_path):
    outcome = aeron("bench", "--seconds", "1", "--json", "--plot", tmp_path / "plot.svg")

    assert outcome.code == 0, outcome.err
    document = json.loads(outcome.out)
    results = {(result["name"], result.get("size")): result for result in document["results"]}
    for name, size in (("IPC, 32 B", 32), ("IPC, 1024 B", 1024), ("UDP, 32 B", 32), ("UDP, 1024 B", 1024)):
        result = results[name, size]
        assert len(result["rounds"]) == ROUNDS
        assert result["messages_per_second"] > 0
        assert result["share_of_limit"] > 0
    for name, limit in (("IPC", "shared memory"), ("UDP", "raw UDP")):
        trips = results[name, None]
        assert trips["limit"] == limit
        assert 0 < trips["percentiles_us"]["50"] <= trips["percentiles_us"]["99.99"]
    assert "<svg" in (tmp_path / "plot.svg").read_text()


@pytest.mark.system
def test_a_pong_of_another_driver_is_measured(aeron, start, running_driver):
    _, directory = running_driver
    ping, answers = free_port(), free_port()
    pong = start(
        *("pong", "--aeron-dir", directory, "--ping-channel", f"aeron:udp?endpoint=127.0.0.1:{ping}"),
        *("--pong-channel", f"aeron:udp?endpoint=127.0.0.1:{answers}"),
    )

    outcome = aeron(
        "bench", "--seconds", "1", "--endpoint", f"127.0.0.1:{ping}", "--answers", f"127.0.0.1:{answers}"
    )

    assert outcome.code == 0, outcome.err
    assert pong.popen.poll() is None
    assert "echoed to 127.0.0.1, 1024 B" in outcome.out
    rates, _, trips = outcome.out.partition("round trip")
    assert "to 127.0.0.1 " in trips
    # Beside limits, which are measured here.
    assert [rates.count("raw UDP on loopback"), trips.count("raw UDP on loopback")] == [3, 2]


def test_the_help_of_pong_has_the_channels_of_both_hosts(aeron):
    text = " ".join(aeron("pong", "--help").out.split())

    for channel in ("aeron:udp?endpoint=0.0.0.0:20123", "aeron:udp?endpoint=10.0.0.1:20124"):
        assert channel in text
    assert "aeron-core bench --endpoint THIS_HOST:20123" in text


def free_port():
    # Pong must know the address of its answers before either end binds its own.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.system
def test_a_fault_of_the_second_process_is_reported():
    with PeerProcess() as peer:
        with pytest.raises(ClientError, match="benchmark failed: KeyError"):
            peer.ask("count", name="nothing")
        assert peer.ask("bind")["port"] > 0


@pytest.mark.system
def test_a_measurement_without_its_end_has_a_deadline():
    with PeerProcess() as peer:
        peer.ask("bind")
        with pytest.raises(ClientError, match="did not arrive"):
            peer.ask("raw_echo", timeout=0)


@pytest.mark.parametrize("measure", ["share_bytes", "send_datagrams", "echo_datagrams"])
def test_a_measurement_of_an_hour_has_a_later_deadline(measure):
    class Peer:
        def ask(self, _do, **_request):
            return {"port": 1}

        def send(self, do, **request):
            raise InterruptedError(request["seconds"])

    with ExitStack() as stack, pytest.raises(InterruptedError, match="3600"):
        getattr(RawLimits(Peer(), stack), measure)(3600)


def test_the_deadline_of_a_request_is_after_the_seconds_of_its_messages():
    with ExitStack() as stack:
        peer = BenchPeer(stack)
        peer.answer({"do": "bind"})
        start_s = time.monotonic()
        with pytest.raises(TimeoutError):
            peer.answer({"do": "raw_count", "timeout": 0, "seconds": 0.05})

    assert time.monotonic() - start_s >= 0.05


def test_a_signal_does_not_interrupt_the_end_of_the_second_process(monkeypatch):
    def initialize(_self, stack):
        stack.callback(closed.append, "driver")
        stack.callback(signal.raise_signal, signal.SIGTERM)

    closed: list[str] = []
    monkeypatch.setattr(BenchPeer, "__init__", initialize)
    monkeypatch.setattr(sys, "stdin", [])
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        main()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

    assert closed == ["driver"]


@pytest.mark.system
def test_the_second_process_ends_when_stdin_is_closed():
    process = subprocess.run(
        [sys.executable, "-m", "aeron_core.cli.bench.peer"],
        input=b'{"do": "bind"}\n',
        capture_output=True,
        timeout=60,
        check=True,
    )

    assert json.loads(process.stdout)["port"] > 0
    assert process.stderr == b""


@pytest.mark.system
def test_an_error_ends_the_second_process_and_its_driver_at_once():
    peer = PeerProcess()
    with suppress(RuntimeError), peer:
        peer.ask("connect", client="udp")
        peer.ask("subscribe", client="udp", name="sink", channel="aeron:ipc", stream=1)
        peer.send("count", name="sink")
        raise RuntimeError

    # Not killed by the signal: it has closed the driver.
    assert peer._process.returncode == 0


def directories_of(pid):
    """Return the private directories with a complete cnc.dat of the drivers of a process and of its children."""
    default = default_aeron_dir()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    found = [
        each for one in (pid, *children) for each in default.parent.glob(f"{default.name}-{one}-*/cnc.dat")
    ]
    return [each.parent for each in found]


@pytest.mark.system
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_closes_both_drivers_and_deletes_their_files(start, number):
    process = start("bench", "--seconds", "600")
    while len(found := directories_of(process.popen.pid)) < 2:
        assert process.popen.poll() is None
        time.sleep(0.01)

    process.popen.send_signal(number)

    assert process.ended(timeout=30).code == 128 + number
    assert not any(each.exists() for each in found)


LOST = """
import os, signal, time, weakref
from aeron_core.cli.bench.ends import stack_closed_by_signals

class Referent:
    pass

def on_end(_):
    # An exception in this callback is printed, and ignored.
    os.kill(os.getpid(), signal.SIGTERM)
    while signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:
        pass

with stack_closed_by_signals() as stack:
    stack.callback(print, "closed")
    referent = Referent()
    kept = weakref.ref(referent, on_end)
    del referent
    print("lost")
    while True:
        time.sleep(1)
"""


@pytest.mark.system
def test_a_signal_that_arrives_where_exceptions_are_ignored_closes_a_benchmark():
    done = subprocess.run(
        [sys.executable, "-c", LOST], capture_output=True, text=True, timeout=60, check=False
    )

    assert done.stdout.split() == ["lost", "closed"]
    assert done.returncode == 128 + signal.SIGTERM
    assert "SystemExit" in done.stderr


KILLED = """
import os, signal
from aeron_core.cli.bench.peer_process import PeerProcess
peer = PeerProcess()
peer.ask("connect", client="udp")
peer.ask("subscribe", client="udp", name="sink", channel="aeron:ipc", stream=1)
peer.send("count", name="sink")
print(peer._process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.system
def test_the_second_process_closes_its_driver_after_a_kill_of_the_first():
    # Waits for the end of stderr, which the second process shares.
    done = subprocess.run(
        [sys.executable, "-c", KILLED],
        capture_output=True,
        timeout=30,
        check=False,
    )

    default = default_aeron_dir()
    assert done.returncode == -signal.SIGKILL
    assert not list(default.parent.glob(f"{default.name}-{int(done.stdout)}-*"))
