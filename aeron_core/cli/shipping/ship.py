"""`aeron-core ship`: publishes the lines of growing files."""

from __future__ import annotations

import hashlib
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Final

import typer

from aeron_core.cli.connecting import connect_as, connect_to_driver
from aeron_core.cli.interrupt import Interrupt
from aeron_core.cli.options import AeronDir, Json, directory_of, int32, positive, print_json
from aeron_core.cli.outcome import failed, print_stderr
from aeron_core.cli.quantities import size_of, wait_s
from aeron_core.cli.shipping.shipped_files import ShippedFiles
from aeron_core.cli.shipping.shipping_run import ShippingRun
from aeron_core.cli.text_table import counted
from aeron_core.client.aeron import Aeron
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.shipping.driver_errors import DriverErrors
from aeron_core.shipping.shipper import ShipperParams
from aeron_core.uri.channel_uri import ChannelUri

_STATE_FOLDER: Final = "~/.local/state/aeron-core/ship"

Patterns = Annotated[
    list[str], typer.Argument(metavar="FILE", help="Files, or quoted patterns such as '/var/log/**/*.log'.")
]
To = Annotated[
    str,
    typer.Option(metavar="CHANNEL", help="Channel, such as aeron:lumberjack?endpoint=logstash:5044."),
]
ShipStreamId = Annotated[
    int, typer.Option(metavar="STREAM_ID", parser=int32, help="Stream id within the channel.")
]
State = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Directory that stores the position in each file; default: one for each channel and stream, in "
        f"{_STATE_FOLDER}.",
    ),
]
FromEnd = Annotated[
    bool,
    typer.Option(
        "--from-end/--from-beginning", help="Skip the present content of files that are not in --state yet."
    ),
]
Raw = Annotated[bool, typer.Option("--raw", help="Send lines as they are, not as JSON events.")]
ShipOnce = Annotated[bool, typer.Option("--once", help="Ship the present content, then exit.")]
MaxLine = Annotated[
    str, typer.Option(metavar="BYTES", help="Maximum length of a line; longer ones are sent in pieces.")
]
Window = Annotated[
    str,
    typer.Option(
        metavar="BYTES",
        help="Messages that may be in flight beyond the stored position; at most these are sent twice after a kill.",
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        metavar="DURATION", parser=wait_s, help="Fail if nothing is confirmed for this time; default: never."
    ),
]
Drain = Annotated[
    float,
    typer.Option(
        metavar="DURATION", parser=wait_s, help="Time to wait at the end until messages are confirmed."
    ),
]
EndWithDriver = Annotated[
    bool,
    typer.Option(
        "--end-with-driver", help="Fail when the driver shuts down, instead of waiting for the next one."
    ),
]
Poll = Annotated[
    bool,
    typer.Option(
        "--poll",
        help="Look for changes every second, also with the extra ship: for files on hosts that the command does not "
        "recognize as remote.",
    ),
]
Embedded = Annotated[bool, typer.Option("--embedded", help="Run a driver within this command.")]


def ship(  # noqa: PLR0913 - the options of the command
    files: Patterns,
    to: To,
    stream_id: ShipStreamId = 1,
    state: State = None,
    from_end: FromEnd = False,
    raw: Raw = False,
    once: ShipOnce = False,
    max_line: MaxLine = "64k",
    window: Window = "1m",
    timeout: Timeout = None,
    drain: Drain = 5.0,
    end_with_driver: EndWithDriver = False,
    poll: Poll = False,
    embedded: Embedded = False,
    aeron_dir: AeronDir = None,
    json: Json = False,
) -> None:
    """Follow growing files and publish each line as a message.

    Runs until a signal, or with --once until the present content is shipped. Files are followed through rotation, by
    renaming or by copying and truncation. A line counts as shipped when the driver's sender position has passed it: for
    a medium with acknowledgements, such as Lumberjack, the peer has received it; for UDP it was sent; for IPC it was
    published. A restarted command continues after the last shipped line. When the driver shuts down, the command
    continues with the next driver in the directory.
    """
    positive("--timeout", timeout)
    positive("--drain", drain)
    shown = ShippedFiles(has_end=once)
    unread: set[str] = set()

    def warn(error: OSError) -> None:
        unread.add(str(error.filename))
        print_stderr(f"warning: {error.filename}: {error.strerror}{'' if once else '; retrying'}")

    params = ShipperParams(
        patterns=files,
        state_folder=state or _state_folder(to, stream_id),
        from_end=from_end,
        is_raw=raw,
        needs_objects=_takes_only_objects(to),
        follows=not once,
        max_line_length=_length_of("--max-line", max_line),
        window_length=_length_of("--window", window),
        polls=poll,
        on_error=warn,
        on_polling=lambda text: print_stderr(f"warning: {text}"),
    )
    with Interrupt() as interrupt, ExitStack() as stack, shown:
        driver_errors = None
        if embedded:
            aeron = _embedded(aeron_dir, stack)
            driver_errors = DriverErrors(aeron.aeron_dir, lambda text: print_stderr(f"warning: {text}"))
        else:
            aeron = connect_to_driver("ship", aeron_dir, publications=[to])
        run = ShippingRun(params, shown, interrupt, to, stream_id, timeout, drain, driver_errors)
        run.run(aeron, None if embedded or end_with_driver else directory_of(aeron_dir))
    _report(shown, json=json)
    if once and not interrupt:
        _check_files(files, shown.file_count, len(unread))


def _report(shown: ShippedFiles, *, json: bool) -> None:
    if json:
        print_json(shown.document())
    else:
        print_stderr(shown.sentence())
    if shown.in_flight:
        print_stderr(
            f"{counted(shown.in_flight, 'message')} not confirmed in time: the next start sends the same lines again"
        )


def _check_files(patterns: list[str], count: int, unread: int) -> None:
    """Raise the exit of a failure if files could not be read, or if no file was followed."""
    if unread:
        raise failed(
            f"{counted(unread, 'file')} could not be read: correct what the warnings name, then ship again"
        )
    if count == 0:
        raise failed(
            f"no file matches {' '.join(patterns)}: check the patterns, or omit --once to wait for files"
        )


def _embedded(aeron_dir: Path | None, stack: ExitStack) -> Aeron:
    settings: dict[str, object] = {"threading_mode": "SHARED"}
    if aeron_dir is not None:
        settings["aeron_dir"] = aeron_dir
    driver = stack.enter_context(MediaDriver.launch_embedded(settings))
    return connect_as("ship", driver.aeron_dir)


def _state_folder(channel: str, stream_id: int) -> Path:
    name = hashlib.sha256(f"{channel} {stream_id}".encode()).hexdigest()[:16]
    return Path(_STATE_FOLDER).expanduser() / name


def _takes_only_objects(channel: str) -> bool:
    """Return whether messages on a channel must be JSON objects."""
    medium = ChannelUri.parse(channel)
    return medium.media == "lumberjack" and not medium.get_bool("wrap", False)


def _length_of(option: str, text: str) -> int:
    length = size_of(option, text)
    positive(option, length)
    return length
