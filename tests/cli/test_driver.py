"""Start of `aeron-core driver`: output, and a signal that arrives before the driver is ready."""

import os
import signal
import sys

import pytest

from aeron_core.cli.main import run
from aeron_core.driver.media_driver import MediaDriver

SIGNALS = [signal.SIGINT, signal.SIGTERM]


@pytest.fixture
def refuse_signals():
    """Turn a signal that reaches the previous handler into a test failure, instead of ending the test run."""

    def refuse(number, frame):
        raise AssertionError(f"signal {number} would have killed the driver")

    before = {number: signal.signal(number, refuse) for number in SIGNALS}
    yield refuse
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("mode", ["SHARED", "INVOKER"])
def test_a_signal_during_the_start_stops_the_driver_in_order(
    aeron, monkeypatch, tmp_path, refuse_signals, mode, number
):
    class Slow(MediaDriver):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            os.kill(os.getpid(), number)

    monkeypatch.setattr("aeron_core.cli.driver.process.MediaDriver", Slow)

    outcome = aeron(
        "driver",
        f"-Daeron.dir={tmp_path / 'driver'}",
        f"-Daeron.threading.mode={mode}",
        "-Daeron.counters.buffer.length=1m",
        "-Daeron.dir.delete.on.shutdown=true",
    )

    assert outcome.code == number, outcome.err
    assert not (tmp_path / "driver").exists()
    assert signal.getsignal(number) is refuse_signals


@pytest.mark.parametrize(
    ("define", "text"),
    [
        ("aeron.event.log=admn", "event log: "),
        ("aeron.socket.so_rcvbuf=2147483647", "AERON_SOCKET_SO_RCVBUF=2147483647: "),
        (
            "aeron.security.profiles=orders,secret_fil=x",
            "security profile 'orders': unknown option 'secret_fil'",
        ),
        (
            "aeron.security.profiles=a,secret_file=/no/key",
            "security profile 'a': key file '/no/key': cannot be read: ",
        ),
        (
            "aeron.security.profiles=a,protector=b",
            "security profile 'a': no datagram protector 'b'; installed: ",
        ),
    ],
)
def test_a_warning_of_the_driver_is_one_line_without_a_code_location(
    aeron, monkeypatch, tmp_path, define, text
):
    class Brief(MediaDriver):
        def await_termination(self, timeout=None):
            return True

    monkeypatch.setattr("aeron_core.cli.driver.process.MediaDriver", Brief)

    outcome = aeron(
        "driver",
        f"-Daeron.dir={tmp_path / 'driver'}",
        "-Daeron.counters.buffer.length=1m",
        "-Daeron.dir.delete.on.shutdown=true",
        f"-D{define}",
    )

    assert outcome.code == 0, outcome.err
    (line,) = outcome.err.splitlines()
    assert line.startswith(f"aeron-core: warning: {text}")


@pytest.mark.parametrize("option", ["-d", "--aeron-dir"])
def test_the_directory_is_an_option_as_with_other_commands(
    aeron, monkeypatch, tmp_path, refuse_signals, option
):
    class Short(MediaDriver):
        def await_termination(self, timeout=None):
            return True

    monkeypatch.setattr("aeron_core.cli.driver.process.MediaDriver", Short)

    outcome = aeron(
        "driver", option, tmp_path / "mine", "-Daeron.dir=/nowhere", "-Daeron.counters.buffer.length=1m"
    )

    assert (outcome.code, outcome.err) == (0, "")
    assert (tmp_path / "mine" / "cnc.dat").exists()


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_driver_that_starts_at_a_terminal_prints_its_directory(aeron, monkeypatch, tmp_path, is_terminal):
    class Short(MediaDriver):
        def await_termination(self, timeout=None):
            return True

    monkeypatch.setattr("aeron_core.cli.driver.process.MediaDriver", Short)
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal)

    outcome = aeron("driver", "-d", tmp_path / "mine", "-Daeron.counters.buffer.length=1m")

    assert outcome.err == (f"aeron-core driver serves {tmp_path / 'mine'}\n" if is_terminal else "")


@pytest.mark.parametrize("options", [[], ["--metrics=localhost:0"]])
def test_an_interrupt_before_the_driver_handles_signals_is_no_traceback(monkeypatch, options):
    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr("aeron_core.cli.driver.process.Registry.load", interrupt)

    with pytest.raises(SystemExit) as exit_of:
        sys.exit(run(["driver", *options]))

    assert exit_of.value.code == 130
