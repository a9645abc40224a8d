"""`aeron-core sub`: writes the messages of a subscription, one per line."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, BinaryIO, Final

import typer

from aeron_core.cli.connecting import checked_channels, connect_to_driver, disconnected
from aeron_core.cli.interrupt import Interrupt
from aeron_core.cli.options import AeronDir, Channel, Json, StreamId, positive, print_json
from aeron_core.cli.outcome import failed, print_stderr, standard_output
from aeron_core.cli.quantities import wait_s
from aeron_core.cli.rate import RateDisplay
from aeron_core.cli.text_table import counted
from aeron_core.client.subscriptions.subscription import Subscription

_BATCH: Final = 4096
# Invented: an idle subscriber polls a thousand times per second, which adds about 1 ms to the latency at most.
_PAUSE_S: Final = 0.001


def sub(  # noqa: PLR0913 - the options of the command
    channel: Channel,
    stream_id: StreamId,
    count: Annotated[
        int | None,
        typer.Option(metavar="COUNT", min=1, help="Number of messages to receive; default: no limit."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", dir_okay=False, help="File to write; default: the standard output."),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="DURATION", parser=wait_s, help="Exit after this time without a message; default: never."
        ),
    ] = None,
    aeron_dir: AeronDir = None,
    json: Json = False,
) -> None:
    """Write received messages, one per line.

    Runs until --count, --timeout or an interrupt. Fails if --timeout expires before the first message, or before
    --count.
    """
    positive("--timeout", timeout)
    with ExitStack() as stack:
        file = standard_output() if output is None else stack.enter_context(output.open("wb"))
        aeron = stack.enter_context(connect_to_driver("sub", aeron_dir, subscriptions=[channel]))
        with checked_channels(subscriptions=[channel]):
            subscription = stack.enter_context(aeron.add_subscription(channel, stream_id))
        with Interrupt() as interrupt, RateDisplay("received", count) as display:
            receiver = _Receiver(subscription, file, display, interrupt)
            in_time = receiver.receive(count, timeout)
        file.flush()
    _sum_up(display, json=json, to_stdout=output is not None)
    if not in_time and display.messages < (count or 1):
        expected = "no message" if count is None else f"{display.messages:,} of {counted(count, 'message')}"
        raise failed(
            f"{expected} received from {channel} stream {stream_id}, none in the last {timeout:g} s: check that its "
            "publisher runs, or raise --timeout"
        )


@dataclass
class _Receiver:
    subscription: Subscription
    file: BinaryIO
    display: RateDisplay
    interrupt: Interrupt

    def receive(self, count: int | None, timeout: float | None) -> bool:
        """Write messages until --count or the interrupt; return False if --timeout expired.

        `timeout`: seconds, None for no limit. Raises ClosedError if the client loses its driver, ProtocolError for an
        invalid frame, and OSError if the output cannot be written.
        """
        last_received_s = time.monotonic()
        while not self.interrupt and (count is None or self.display.messages < count):
            if self._write(_BATCH if count is None else min(_BATCH, count - self.display.messages)):
                last_received_s = time.monotonic()
            elif self.subscription.is_closed:
                raise disconnected(self.display.messages, "subscribe again")
            elif timeout is not None and time.monotonic() - last_received_s >= timeout:
                return False
            else:
                self.interrupt.wait(_PAUSE_S)
        return True

    def _write(self, limit: int) -> int:
        batch = self.subscription.poll_batch(limit)
        if len(batch):
            if self.display.messages == 0:
                self.display.start()
            self.file.writelines(message + b"\n" for message in batch)
            self.file.flush()
            self.display.add(len(batch), len(batch.data))
        return len(batch)


def _sum_up(display: RateDisplay, *, json: bool, to_stdout: bool) -> None:
    if json:
        # Without a file, stdout carries the messages.
        print_json(display.summary(), to_stderr=not to_stdout)
    else:
        print_stderr(display.sentence("received"))
