"""`aeron-core device`: joins two PAIR channels, in both directions."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Final

import typer

from aeron_core.cli.connecting import connect_to_driver
from aeron_core.cli.interrupt import Interrupt
from aeron_core.cli.options import Json, print_json
from aeron_core.cli.outcome import failed, say
from aeron_core.cli.rate import RateDisplay, counted
from aeron_core.client.aeron import Aeron, connect
from aeron_core.device import Device
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.errors import ClosedError

_STREAM: Final = 1001
# After so many looks without a message the thread sleeps between two. Both are invented numbers.
_BUSY_LOOKS: Final = 200
_PAUSE_S: Final = 0.0002

First = Annotated[
    str, typer.Argument(metavar="URI", help="One channel, such as aeron:sp?endpoint=…|mode=listen.")
]
Second = Annotated[
    str, typer.Argument(metavar="URI", help="The other; the same one once more sends everything back.")
]


def device(  # noqa: PLR0913 - the options of the command
    first: First,
    second: Second,
    stream: Annotated[
        int, typer.Option(help="Stream of both channels in the driver; peers know of none.")
    ] = _STREAM,
    linger: Annotated[float, typer.Option(help="Seconds that what was taken has to go on at the end.")] = 5.0,
    aeron_dir: Annotated[
        Path | None,
        typer.Option(
            "--aeron-dir", "-d", help="Directory of a running driver, instead of one within this command."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Join two PAIR channels, until an interrupt: what peers of one say goes on to peers of the other."""
    with ExitStack() as stack:
        interrupt = stack.enter_context(Interrupt())
        aeron = stack.enter_context(_connected(aeron_dir, stack))
        joined = stack.enter_context(Device.join(aeron, first, second, stream))
        with RateDisplay("device") as display:
            say("joined; an interrupt ends it")
            _run(joined, display, interrupt)
            is_settled = _settle(joined, linger)
        _report(joined, display, json=json)
        if not is_settled:
            raise failed(f"not everything that was taken has gone on within {linger:g} s")


def _connected(aeron_dir: Path | None, stack: ExitStack) -> Aeron:
    if aeron_dir is not None:
        return connect_to_driver(aeron_dir)
    driver = stack.enter_context(MediaDriver.launch_embedded())
    return connect(driver.aeron_dir)


def _run(joined: Device, display: RateDisplay, interrupt: Interrupt) -> None:
    idle_looks = 0
    while not interrupt:
        if joined.is_closed:
            raise ClosedError("the media driver is gone")
        if joined.do_work():
            idle_looks = 0
            _show(joined, display)
            continue
        idle_looks += 1
        if idle_looks > _BUSY_LOOKS:
            _show(joined, display)
            interrupt.wait(_PAUSE_S)
        else:
            # Where there are fewer processors than threads that spin, the driver's has to have one now.
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
    say(display.sentence("joined"))
    for direction in directions:
        say(f"from {direction['from']}: {counted(int(str(direction['messages'])), 'message')}")
