"""`aeron-core pub`: lines, or random messages, to a publication."""

from __future__ import annotations

import itertools
import random
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated

import typer

from aeron_core.cli.connecting import await_other_side, connect_to_driver
from aeron_core.cli.options import AeronDir, Channel, Json, StreamId, positive, print_json
from aeron_core.cli.outcome import say
from aeron_core.cli.rate import RateDisplay
from aeron_core.client.offerer import Offerer


def pub(  # noqa: PLR0913 - the options of the command
    channel: Channel,
    stream_id: StreamId,
    input: Annotated[  # noqa: A002 - the name of the option
        Path | None,
        typer.Option(exists=True, dir_okay=False, readable=True, help="File of lines; else stdin."),
    ] = None,
    count: Annotated[int | None, typer.Option(help="Messages to send, then end.")] = None,
    rate: Annotated[
        float | None, typer.Option(help="Messages a second; as fast as they go where unset.")
    ] = None,
    size: Annotated[int | None, typer.Option(help="Send random messages of this length instead.")] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds to wait for a subscriber; for ever where unset.")
    ] = None,
    aeron_dir: AeronDir = None,
    json: Json = False,
) -> None:
    """Publish the lines of stdin or of a file, each as one message without its line end."""
    for name, value in (("--count", count), ("--rate", rate), ("--size", size), ("--timeout", timeout)):
        positive(name, value)
    with ExitStack() as stack:
        aeron = stack.enter_context(connect_to_driver(aeron_dir))
        publication = stack.enter_context(closing(aeron.add_publication(channel, stream_id)))
        messages = _random_messages(size) if size is not None else _lines(input, stack)
        await_other_side(publication, timeout)
        offerer = Offerer(publication, timeout)
        with RateDisplay("sent", count) as display:
            _send(_paced(itertools.islice(messages, count), rate), offerer, display)
        position = publication.position
    if json:
        extra = {"back_pressured": offerer.back_pressured, "position": position}
        print_json({**display.summary(), **extra})
    else:
        say(display.sentence("sent"))


def _send(messages: Iterable[bytes], offerer: Offerer, display: RateDisplay) -> None:
    display.start()
    try:
        for message in messages:
            offerer.offer(message)
            display.add(1, len(message))
    except KeyboardInterrupt:
        # The usual end of a stream without one: what was accepted so far is sent and summed up.
        return


def _lines(path: Path | None, stack: ExitStack) -> Iterator[bytes]:
    file = sys.stdin.buffer if path is None else stack.enter_context(path.open("rb"))
    return (line.removesuffix(b"\n") for line in file)


def _random_messages(size: int) -> Iterator[bytes]:
    generator = random.Random()
    while True:
        yield generator.randbytes(size)


def _paced(messages: Iterable[bytes], rate: float | None) -> Iterator[bytes]:
    """Yield `rate` messages a second, each as late as it is due, without catching up in bursts of its own."""
    start_s = time.monotonic()
    for index, message in enumerate(messages):
        if rate is not None:
            due_s = start_s + index / rate
            time.sleep(max(0.0, due_s - time.monotonic()))
        yield message
