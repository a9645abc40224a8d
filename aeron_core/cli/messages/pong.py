"""`aeron-core pong`: returns the messages of `aeron-core ping` or of the Ping of Aeron."""

from __future__ import annotations

import os
from contextlib import ExitStack, closing
from typing import Annotated, Final

import typer

from aeron_core.cli.connecting import checked_channels, connect_to_driver, disconnected
from aeron_core.cli.interrupt import Interrupt
from aeron_core.cli.messages.ping_pong import (
    PING_CHANNEL,
    PING_STREAM,
    PONG_CHANNEL,
    PONG_STREAM,
    PingChannel,
    PingStream,
    PongChannel,
    PongStream,
)
from aeron_core.cli.options import AeronDir, Json, print_json
from aeron_core.cli.outcome import print_stderr
from aeron_core.cli.text_table import counted
from aeron_core.client.publications.offerer import Offerer
from aeron_core.client.subscriptions.header import Header
from aeron_core.client.subscriptions.subscription import Subscription
from aeron_core.errors import ClosedError, NotConnectedError

_LIMIT: Final = 10
# After this many polls without a message, the thread sleeps between two polls: an idle pong should not occupy a
# processor, and a sleep must not disturb a measurement. Both numbers are invented.
_BUSY_POLLS: Final = 50_000
_PAUSE_S: Final = 0.001
_OFFER_TIMEOUT_S: Final = 1.0


def pong(  # noqa: PLR0913 - the options of the command
    once: Annotated[bool, typer.Option("--once", help="Exit when the first ping has disconnected.")] = False,
    ping_channel: PingChannel = PING_CHANNEL,
    ping_stream: PingStream = PING_STREAM,
    pong_channel: PongChannel = PONG_CHANNEL,
    pong_stream: PongStream = PONG_STREAM,
    aeron_dir: AeronDir = None,
    json: Json = False,
) -> None:
    """Return every message to its sender.

    Runs until an interrupt, or with --once until the first ping has disconnected. For a ping or a benchmark on another
    host, --ping-channel is an address of this host, such as aeron:udp?endpoint=0.0.0.0:20123, and --pong-channel one of
    the other host, such as aeron:udp?endpoint=10.0.0.1:20124. That host then runs `aeron-core bench --endpoint
    THIS_HOST:20123`, or `aeron-core ping` with --ping-channel aeron:udp?endpoint=THIS_HOST:20123 and the same
    --pong-channel.
    """
    with ExitStack() as stack:
        channels = {"publications": [pong_channel], "subscriptions": [ping_channel]}
        aeron = stack.enter_context(connect_to_driver("pong", aeron_dir, **channels))
        with checked_channels(**channels):
            subscription = stack.enter_context(aeron.add_subscription(ping_channel, ping_stream))
            publication = stack.enter_context(
                closing(aeron.add_exclusive_publication(pong_channel, pong_stream))
            )
        offerer = Offerer(publication, _OFFER_TIMEOUT_S)
        with Interrupt() as interrupt:
            _answer(subscription, offerer, interrupt, once=once)
    if json:
        print_json({"messages": offerer.messages, "bytes": offerer.bytes})
    else:
        print_stderr(f"returned {counted(offerer.messages, 'message')}")


def _answer(subscription: Subscription, offerer: Offerer, interrupt: Interrupt, *, once: bool) -> None:
    def on_fragment(buffer: memoryview, header: Header) -> None:
        try:
            offerer.offer(buffer, header.reserved_value)
        except NotConnectedError:
            # The ping disconnected before its answer; wait for the next one.
            return
        except ClosedError:
            raise disconnected(offerer.messages, "run pong again") from None

    idle_polls = 0
    while not interrupt:
        if subscription.is_closed:
            raise disconnected(offerer.messages, "run pong again")
        if subscription.poll(on_fragment, _LIMIT):
            idle_polls = 0
            continue
        if once and offerer.messages and not subscription.is_connected:
            return
        idle_polls += 1
        if idle_polls > _BUSY_POLLS:
            interrupt.wait(_PAUSE_S)
        else:
            # With fewer processors than spinning threads, let the driver's thread run now.
            os.sched_yield()
