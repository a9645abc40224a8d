"""`aeron-core pub`: publishes lines, or random messages."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated, Final

import typer

from aeron_core.cli.connecting import (
    ConnectTimeout,
    await_other_side,
    checked_channels,
    connect_to_driver,
    disconnected,
)
from aeron_core.cli.options import AeronDir, Channel, Json, StreamId, positive, print_json
from aeron_core.cli.outcome import print_stderr, standard_input
from aeron_core.cli.quantities import size_in_bytes
from aeron_core.cli.rate import RateDisplay
from aeron_core.client.publications.offerer import Offerer
from aeron_core.errors import ClosedError, ConfigurationError

#: If a message is later than this, the schedule starts again from now. Invented: longer than usual delays by the
#: operating system, and short, so that the burst of the messages that are late by less stays small.
_MAX_LATENESS_S: Final = 0.1
#: Longest pause between two messages: 31 years, which every system call that waits accepts.
_MAX_INTERVAL_S: Final = 1e9


def pub(  # noqa: PLR0913 - the options of the command
    channel: Channel,
    stream_id: StreamId,
    input: Annotated[  # noqa: A002 - the name of the option
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            readable=True,
            help="File with the lines to publish; default: the standard input.",
        ),
    ] = None,
    count: Annotated[
        int | None, typer.Option(metavar="COUNT", min=1, help="Number of messages to send; default: all.")
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(metavar="MESSAGES_PER_SECOND", help="Messages per second; default: no limit."),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(
            metavar="BYTES",
            parser=size_in_bytes,
            help="Send random messages of this length instead of lines.",
        ),
    ] = None,
    timeout: ConnectTimeout = None,
    aeron_dir: AeronDir = None,
    json: Json = False,
) -> None:
    """Publish the lines of the standard input or of a file.

    Each line is one message, without its line end.
    """
    for name, value in (("--rate", rate), ("--size", size), ("--timeout", timeout)):
        positive(name, value)
    with ExitStack() as stack:
        _check_input(size, input)
        aeron = stack.enter_context(connect_to_driver("pub", aeron_dir, publications=[channel]))
        with checked_channels(publications=[channel]):
            publication = stack.enter_context(closing(aeron.add_publication(channel, stream_id)))
        _check_size(size, publication.max_message_length)
        messages = _lines(input, stack) if size is None else _random_messages(size)
        await_other_side(publication, timeout)
        offerer = Offerer(publication, timeout)
        with RateDisplay("sent", count, _length_of(input)) as display:
            _send(paced(itertools.islice(messages, count), rate), offerer, display)
        position = publication.position
    if json:
        extra = {"back_pressured": offerer.back_pressured, "position": position}
        print_json({**display.summary(), **extra})
    else:
        print_stderr(display.sentence("sent"))


def _check_input(size: int | None, path: Path | None) -> None:
    """Raise OSError if the lines are to be read from a standard input that is closed.

    A file is opened later: the open of a FIFO waits for its writer, and a missing driver is to be reported before.
    """
    if size is None and path is None:
        standard_input()


def _check_size(size: int | None, maximum: int) -> None:
    """Raise ConfigurationError if messages of `size` bytes are longer than the channel's maximum."""
    if size is not None and size > maximum:
        raise ConfigurationError(
            f"--size={size}: must be from 1 to {maximum} (in bytes), an eighth of term-length=, at most 16m: lower it"
        )


def _send(messages: Iterable[bytes], offerer: Offerer, display: RateDisplay) -> None:
    display.start()
    try:
        for message in messages:
            offerer.offer(message)
            display.add(1, len(message))
    except ClosedError:
        raise disconnected(offerer.messages, "publish again") from None
    except KeyboardInterrupt:
        # The usual end of an endless stream: messages already accepted are sent and counted.
        return


def _lines(path: Path | None, stack: ExitStack) -> Iterator[bytes]:
    file = standard_input() if path is None else stack.enter_context(path.open("rb"))
    return (line.removesuffix(b"\n") for line in file)


def _length_of(path: Path | None) -> int | None:
    """Return the length of a regular file in bytes; None for other files, and for the standard input."""
    return path.stat().st_size if path is not None and path.is_file() else None


def _random_messages(size: int) -> Iterator[bytes]:
    generator = random.Random()
    while True:
        yield generator.randbytes(size)


def paced(messages: Iterable[bytes], rate: float | None) -> Iterator[bytes]:
    """Yield `rate` messages per second, or without pauses if `rate` is None.

    Each message has a due time on a fixed schedule. A message that is late is not delayed, so that sleeps that take
    longer than requested, by 50 µs and more, do not lower the rate. When a message is more than 0.1 s late, the
    schedule starts again from now.
    """
    if rate is None:
        yield from messages
        return
    interval_s = min(1 / rate, _MAX_INTERVAL_S)
    due_s = time.monotonic()
    for message in messages:
        now_s = time.monotonic()
        if now_s < due_s:
            time.sleep(due_s - now_s)
        elif now_s - due_s > _MAX_LATENESS_S:
            due_s = now_s
        yield message
        due_s += interval_s
