"""`aeron-core sub`: the messages of a subscription, one a line."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, BinaryIO, Final

import typer

from aeron_core.cli.connecting import connect_to_driver
from aeron_core.cli.options import AeronDir, Channel, Json, StreamId, positive
from aeron_core.cli.outcome import failed, say
from aeron_core.cli.rate import RateDisplay
from aeron_core.client.subscription import Subscription
from aeron_core.errors import ClosedError

_BATCH: Final = 4096
# An invented number: what an idle subscriber adds to the latency, at a thousand looks a second.
_PAUSE_S: Final = 0.001


def sub(  # noqa: PLR0913 - the options of the command
    channel: Channel,
    stream_id: StreamId,
    count: Annotated[int | None, typer.Option(help="Messages to receive, then end.")] = None,
    output: Annotated[Path | None, typer.Option(dir_okay=False, help="File to write; else stdout.")] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds without a message after which to end; never where unset.")
    ] = None,
    aeron_dir: AeronDir = None,
    json: Json = False,
) -> None:
    """Write each message and a line end, until --count, --timeout or an interrupt.

    Fails where --timeout ends it before the first message, or before --count.
    """
    positive("--count", count)
    positive("--timeout", timeout)
    with ExitStack() as stack:
        file = sys.stdout.buffer if output is None else stack.enter_context(output.open("wb"))
        aeron = stack.enter_context(connect_to_driver(aeron_dir))
        subscription = stack.enter_context(aeron.add_subscription(channel, stream_id))
        with RateDisplay("received", count) as display:
            in_time = _receive(subscription, file, display, count, timeout)
        file.flush()
    _sum_up(display, json=json, to_stdout=output is not None)
    if not in_time and display.messages < (count or 1):
        expected = "no message" if count is None else f"{display.messages} of {count} messages"
        raise failed(f"{expected} from {channel} stream {stream_id}, and none more within {timeout:g} s")


def _receive(
    subscription: Subscription, file: BinaryIO, display: RateDisplay, count: int | None, timeout: float | None
) -> bool:
    """Write messages until there are enough; return False where silence has ended it."""
    heard_s = time.monotonic()
    try:
        while count is None or display.messages < count:
            wanted = _BATCH if count is None else min(_BATCH, count - display.messages)
            batch = subscription.poll_batch(wanted)
            if len(batch):
                if display.messages == 0:
                    display.start()
                file.writelines(message + b"\n" for message in batch)
                file.flush()
                display.add(len(batch), len(batch.data))
                heard_s = time.monotonic()
            elif subscription.is_closed:
                raise ClosedError(f"the media driver is gone after {display.messages} messages")
            elif timeout is not None and time.monotonic() - heard_s >= timeout:
                return False
            else:
                time.sleep(_PAUSE_S)
    except KeyboardInterrupt:
        pass
    return True


def _sum_up(display: RateDisplay, *, json: bool, to_stdout: bool) -> None:
    if json:
        # The messages have stdout for themselves.
        import json as encoder  # noqa: PLC0415 - the option has its name

        print(encoder.dumps(display.summary()), file=sys.stdout if to_stdout else sys.stderr)
    else:
        say(display.sentence("received"))
