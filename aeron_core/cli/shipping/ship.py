"""`aeron-core ship`: files that grow, line by line, to a channel."""

from __future__ import annotations

import hashlib
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Final

import typer

from aeron_core.cli.connecting import connect_to_driver
from aeron_core.cli.interrupt import Interrupt
from aeron_core.cli.options import AeronDir, Json, directory_of, positive, print_json
from aeron_core.cli.outcome import say
from aeron_core.cli.quantities import size_of
from aeron_core.cli.shipping.shipped_files import ShippedFiles
from aeron_core.cli.shipping.shipping_run import ShippingRun
from aeron_core.client.aeron import Aeron, connect
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.shipping.driver_errors import DriverErrors
from aeron_core.shipping.shipper import ShipperParams
from aeron_core.uri.channel_uri import ChannelUri

_STATE_FOLDER: Final = "~/.local/state/aeron-core/ship"


def ship(  # noqa: PLR0913 - the options of the command
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Files, or quoted patterns such as '/var/log/**/*.log'."),
    ],
    to: Annotated[
        str, typer.Option(metavar="CHANNEL", help="Such as aeron:lumberjack?endpoint=logstash:5044.")
    ],
    stream_id: Annotated[int, typer.Option(help="Stream within the channel.")] = 1,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder that remembers how far each file has come; one of its own for each channel and stream "
            f"below {_STATE_FOLDER} where unset.",
        ),
    ] = None,
    from_end: Annotated[
        bool,
        typer.Option(
            "--from-end/--from-beginning",
            help="Leave out what files that are not yet known hold at the start.",
        ),
    ] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Send lines as they are, not as JSON events.")] = False,
    once: Annotated[bool, typer.Option("--once", help="Ship what is there, then end.")] = False,
    max_line: Annotated[
        str, typer.Option(metavar="BYTES", help="Longer lines are sent in pieces of that length.")
    ] = "64k",
    window: Annotated[
        str,
        typer.Option(
            metavar="BYTES",
            help="Messages that may be ahead of what is remembered, and come twice after a kill, at most.",
        ),
    ] = "1m",
    timeout: Annotated[
        float | None,
        typer.Option(help="Fail after so many seconds in which nothing arrived; never where unset."),
    ] = None,
    drain: Annotated[
        float, typer.Option(help="Seconds to wait at the end for what is on its way to arrive.")
    ] = 5.0,
    end_with_driver: Annotated[
        bool,
        typer.Option(
            "--end-with-driver", help="Fail when the driver is gone, instead of waiting for the next one."
        ),
    ] = False,
    embedded: Annotated[
        bool,
        typer.Option("--embedded", help="Run a driver within this command, instead of connecting to one."),
    ] = False,
    aeron_dir: AeronDir = None,
    json: Json = False,
) -> None:
    """Follow files, and publish each line as one message, until a signal.

    Files are followed through rotation, by renaming or by copying and truncation. A line counts as shipped once the
    driver's sender position has passed it: for a medium with acknowledgements, as Lumberjack, the peer has it; for
    UDP it was sent; for IPC it was published. A command that is started again goes on behind that, as this one does
    with the next driver in the directory where its driver is gone.
    """
    positive("--timeout", timeout)
    positive("--drain", drain)
    shown = ShippedFiles()
    params = ShipperParams(
        patterns=files,
        state_folder=state or _state_folder(to, stream_id),
        from_end=from_end,
        is_raw=raw,
        needs_objects=_takes_objects_alone(to),
        follows=not once,
        max_line_length=_length_of("--max-line", max_line),
        window_length=_length_of("--window", window),
        on_error=lambda error: say(f"warning: {error.filename}: {error.strerror}"),
    )
    with Interrupt() as interrupt, ExitStack() as stack, shown:
        run = ShippingRun(params, shown, interrupt, to, stream_id, timeout, drain)
        if embedded:
            aeron = _embedded(aeron_dir, stack)
            run.driver_errors = DriverErrors(aeron.aeron_dir, lambda text: say(f"warning: {text}"))
        else:
            aeron = connect_to_driver(aeron_dir)
        run.run(aeron, None if embedded or end_with_driver else directory_of(aeron_dir))
    if json:
        print_json(shown.document())
    else:
        say(shown.sentence())
    if shown.in_flight:
        say(
            f"{shown.in_flight:,} messages have not arrived in time: their lines are sent again by the next start"
        )


def _embedded(aeron_dir: Path | None, stack: ExitStack) -> Aeron:
    settings: dict[str, object] = {"threading_mode": "SHARED"}
    if aeron_dir is not None:
        settings["aeron_dir"] = aeron_dir
    driver = stack.enter_context(MediaDriver.launch_embedded(settings))
    return connect(driver.aeron_dir)


def _state_folder(channel: str, stream_id: int) -> Path:
    name = hashlib.sha256(f"{channel} {stream_id}".encode()).hexdigest()[:16]
    return Path(_STATE_FOLDER).expanduser() / name


def _takes_objects_alone(channel: str) -> bool:
    """Return whether what is sent to a channel has to be JSON objects."""
    medium = ChannelUri.parse(channel)
    return medium.media == "lumberjack" and not medium.get_bool("wrap", False)


def _length_of(option: str, text: str) -> int:
    length = size_of(option, text)
    positive(option, length)
    return length
