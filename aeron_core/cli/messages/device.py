"""`aeron-core device`: forwards messages between two PAIR channels, in both directions."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Final

import typer

from aeron_core.cli.connecting import checked_channels, connect_as, connect_to_driver
from aeron_core.cli.interrupt import Interrupt
from aeron_core.cli.options import Json, int32, print_json
from aeron_core.cli.outcome import failed, print_stderr
from aeron_core.cli.quantities import wait_s
from aeron_core.cli.rate import RateDisplay
from aeron_core.cli.text_table import counted
from aeron_core.client.aeron import Aeron
from aeron_core.concurrent.error_log import read_errors
from aeron_core.device import Device
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.errors import ClosedError
from aeron_core.protocol.cnc import CNC_FILE, CncFile

_STREAM: Final = 1001
# After this many polls without a message, the thread sleeps between two polls. Both numbers are invented.
_BUSY_POLLS: Final = 200
_PAUSE_S: Final = 0.0002
# Interval between two reads of the error log. Invented.
_ERRORS_INTERVAL_S: Final = 0.5

First = Annotated[
    str, typer.Argument(metavar="CHANNEL", help="First channel, such as aeron:sp?endpoint=…|mode=listen.")
]
Second = Annotated[
    str,
    typer.Argument(
        metavar="CHANNEL", help="Second channel; the first one again returns every message to its sender."
    ),
]


def device(  # noqa: PLR0913 - the options of the command
    first: First,
    second: Second,
    stream: Annotated[
        int,
        typer.Option(
            metavar="STREAM_ID",
            parser=int32,
            help="Stream id of both channels in the driver; never on the wire.",
        ),
    ] = _STREAM,
    linger: Annotated[
        float,
        typer.Option(
            metavar="DURATION",
            parser=wait_s,
            help="Time to forward messages already received when the command is interrupted.",
        ),
    ] = 5.0,
    aeron_dir: Annotated[
        Path | None,
        typer.Option(
            "--aeron-dir",
            "-d",
            metavar="DIR",
            help="Directory of a running driver; default: a driver embedded in this command.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Forward messages between two PAIR channels, in both directions.

    Runs until an interrupt.
    """
    with ExitStack() as stack:
        interrupt = stack.enter_context(Interrupt())
        errors = _Errors()
        channels = [first, second]
        aeron = stack.enter_context(_connected(aeron_dir, channels, stack, errors))
        with checked_channels(publications=channels, subscriptions=channels):
            joined = stack.enter_context(Device.join(aeron, first, second, stream))
        with RateDisplay("device") as display:
            print_stderr("joined; interrupt to stop")
            _run(joined, display, interrupt, errors)
            is_settled = _settle(joined, linger)
        errors.report()
        _report(joined, display, json=json)
        if not is_settled:
            raise failed(
                f"some received messages were not forwarded within {linger:g} s: raise --linger, or check that the "
                "peers of both channels are connected and read"
            )


class _Errors:
    """Prints the errors of an embedded driver; users do not know its directory, which tools need."""

    def __init__(self) -> None:
        self._cnc: CncFile | None = None
        self._reported: set[str] = set()
        self._next_s = 0.0

    def watch(self, driver: MediaDriver) -> None:
        """Open the error log of `driver`, for the reports."""
        self._cnc = CncFile.open(driver.aeron_dir / CNC_FILE)

    def report_if_due(self) -> None:
        """Print new errors if 0.5 s have passed; raise ProtocolError if the error log is damaged."""
        if time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + _ERRORS_INTERVAL_S
            self.report()

    def report(self) -> None:
        """Print the errors that were not printed yet; raise ProtocolError if the error log is damaged."""
        for record in read_errors(self._cnc.error_log) if self._cnc is not None else ():
            if record.text not in self._reported:
                self._reported.add(record.text)
                print_stderr(f"warning: {record.line}")


def _connected(aeron_dir: Path | None, channels: list[str], stack: ExitStack, errors: _Errors) -> Aeron:
    if aeron_dir is not None:
        return connect_to_driver("device", aeron_dir, publications=channels, subscriptions=channels)
    driver = stack.enter_context(MediaDriver.launch_embedded())
    errors.watch(driver)
    return connect_as("device", driver.aeron_dir)


def _run(joined: Device, display: RateDisplay, interrupt: Interrupt, errors: _Errors) -> None:
    idle_polls = 0
    while not interrupt:
        if joined.is_closed:
            raise ClosedError(
                f"device of {', '.join(joined.channels)}: disconnected from the media driver: a warning names the "
                "cause; start the driver if it has shut down, then run the device again"
            )
        if joined.do_work():
            idle_polls = 0
            _show(joined, display)
            continue
        idle_polls += 1
        if idle_polls > _BUSY_POLLS:
            _show(joined, display)
            errors.report_if_due()
            interrupt.wait(_PAUSE_S)
        else:
            # With fewer processors than spinning threads, let the driver's thread run now.
            os.sched_yield()


def _settle(joined: Device, linger: float) -> bool:
    deadline_s = time.monotonic() + linger
    while not (is_settled := joined.settle()):
        if time.monotonic() >= deadline_s:
            break
        time.sleep(_PAUSE_S)
    return is_settled


def _show(joined: Device, display: RateDisplay) -> None:
    traffic = joined.traffic
    display.add(
        sum(each.messages for each in traffic) - display.messages,
        sum(each.bytes for each in traffic) - display.bytes,
    )


def _report(joined: Device, display: RateDisplay, *, json: bool) -> None:
    _show(joined, display)
    directions = [
        {
            "from": channel,
            "messages": each.messages,
            "bytes": each.bytes,
            "too_long": each.too_long,
            "left": each.left,
        }
        for channel, each in zip(joined.channels, joined.traffic, strict=True)
    ]
    if json:
        print_json({**display.summary(), "directions": directions})
        return
    print_stderr(display.sentence("joined"))
    for channel, each in zip(joined.channels, joined.traffic, strict=True):
        lost = (
            f", and {each.too_long} lost, too long for term-length= of the other channel"
            if each.too_long
            else ""
        )
        print_stderr(f"from {channel}: {counted(each.messages, 'message')}{lost}")
