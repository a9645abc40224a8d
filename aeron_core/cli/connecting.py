"""Connections of a command to a driver, and of its streams to their peers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer

from aeron_core.cli.options import command_line, directory_of, is_terminal
from aeron_core.cli.outcome import exit_code_of, message_of, print_stderr
from aeron_core.cli.quantities import wait_s
from aeron_core.cli.text_table import counted
from aeron_core.client.aeron import Aeron
from aeron_core.client.connecting import connect_named
from aeron_core.client.handlers import ErrorHandler, log_error
from aeron_core.client.publications.exclusive_publication import ExclusivePublication
from aeron_core.client.publications.publication import Publication
from aeron_core.client.subscriptions.subscription import Subscription
from aeron_core.errors import (
    ClosedError,
    CncNotReadyError,
    ConfigurationError,
    DriverTimeoutError,
    NotConnectedError,
    RegistrationError,
)
from aeron_core.observation.driver_files import DriverFiles
from aeron_core.settings import load_client_settings
from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.keys import may_have_unknown_keys

# Invented: long enough for a driver that is starting, short enough for an interactive user.
_DRIVER_WAIT_S: Final = 3.0
_CHECK_INTERVAL_S: Final = 0.02

ConnectTimeout = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="DURATION",
        parser=wait_s,
        help="Fail if not connected for this time; default: wait forever.",
    ),
]


def connect_to_driver(
    command: str,
    aeron_dir: Path | None,
    *,
    publications: Sequence[str] = (),
    subscriptions: Sequence[str] = (),
) -> Aeron:
    """Return a client of the driver, for these channels; raise DriverTimeoutError if no driver runs within 3 s.

    It is named after `command`, see `connect_as`.

    Prints a warning for each unknown key of a channel. Raises ChannelUriError for a channel that is no URI, and, if no
    driver runs, for one that ours refuses with any settings. Raises CncIncompatibleError if `cnc.dat` is damaged or has
    another version, StorageError if it cannot be mapped, and ConfigurationError for wrong settings of the client. The
    wait is not implemented as a short driver timeout, because that setting also limits heartbeat gaps later on.
    """
    _warn_of_unknown_keys([*publications, *subscriptions])
    directory = directory_of(aeron_dir)
    deadline_s = time.monotonic() + _DRIVER_WAIT_S
    while (problem := _problem(directory)) is not None:
        if time.monotonic() >= deadline_s:
            # Only now: a running driver decides itself, and the C driver accepts some values that ours refuses.
            _check_for_any_driver(publications, subscriptions)
            raise DriverTimeoutError(f"{problem}; start one with {command_line('driver', aeron_dir)}")
        time.sleep(_CHECK_INTERVAL_S)
    return connect_as(command, directory)


def connect_as(command: str, directory: Path, error_handler: ErrorHandler | None = None) -> Aeron:
    """Return a client with the name `aeron-core COMMAND`, unless the settings name it; wait for a driver as `connect`.

    Without `error_handler`, its errors are printed as warnings.
    """
    return connect_named(f"aeron-core {command}", directory, error_handler or report_error)


def connect_to_next_driver(command: str, directory: Path) -> Aeron | None:
    """Return a client of the driver that runs in `directory` now, None if none does; do not wait for one.

    It is named after `command`, see `connect_as`.

    Raises CncIncompatibleError if its `cnc.dat` is damaged or has another version, StorageError if it cannot be mapped,
    and ConfigurationError for wrong settings of the client.
    """
    timeout_ms = load_client_settings().settings.driver_timeout_ms
    try:
        age_ms = DriverFiles.open(directory).heartbeat_age_ms
        if age_ms is None or age_ms > timeout_ms:
            return None
        return connect_as(command, directory)
    except (
        CncNotReadyError,
        DriverTimeoutError,
    ):  # the files are incomplete, or belong to the previous driver
        return None


@contextmanager
def checked_channels(
    *, publications: Sequence[str] = (), subscriptions: Sequence[str] = ()
) -> Iterator[None]:
    """Turn a RegistrationError of the context into a ConfigurationError if one of the channels is wrong in itself.

    Drivers answer many faults of a channel with the code of a general error, as they answer a port in use.
    """
    try:
        yield
    except RegistrationError as error:
        from aeron_core.cli.channel_faults import is_wrong_channel  # noqa: PLC0415 - imports all plugins: only for a refusal

        if any(is_wrong_channel(channel, is_publication=True) for channel in publications) or any(
            is_wrong_channel(channel, is_publication=False) for channel in subscriptions
        ):
            raise ConfigurationError(str(error)) from error
        raise


def _warn_of_unknown_keys(channels: Sequence[str]) -> None:
    """Print a warning for each unknown key, once; raise ChannelUriError for a channel that is no URI."""
    uris = [ChannelUri.parse(channel) for channel in channels]
    if not any(may_have_unknown_keys(uri) for uri in uris):
        return
    from aeron_core.cli.channel_faults import warnings_of_keys  # noqa: PLC0415 - lazy: most channels have known keys only

    for text in dict.fromkeys(text for uri in uris for text in warnings_of_keys(uri)):
        print_stderr(f"warning: {text}")


def _check_for_any_driver(publications: Sequence[str], subscriptions: Sequence[str]) -> None:
    from aeron_core.cli.channel_faults import check_for_any_driver  # noqa: PLC0415 - lazy: only if no driver runs

    for channel in publications:
        check_for_any_driver(channel, is_publication=True)
    for channel in subscriptions:
        check_for_any_driver(channel, is_publication=False)


def report_error(error: Exception) -> None:
    """Print an error of a client as a warning; log one that is a bug, with its traceback. For error handlers."""
    # Only a warning: the command continues, or fails with an error of its own. An error without an exit code is a bug.
    if exit_code_of(error) is None:
        log_error(error)
    else:
        print_stderr(f"warning: {message_of(error)}")


def _problem(directory: Path) -> str | None:
    try:
        files = DriverFiles.open(directory)
    except CncNotReadyError as error:
        return str(error)
    if files.is_alive:
        return None
    age_ms = files.heartbeat_age_ms
    if age_ms is None:
        return f"the media driver of {directory} has shut down, or has not started its duty cycle"
    return f"the media driver of {directory} is dead: its last heartbeat is {age_ms} ms old"


def disconnected(messages: int, again: str) -> ClosedError:
    """Return the error of a command whose client was closed after a number of messages.

    `again` is what to do after the driver was started.
    """
    return ClosedError(
        f"disconnected from the media driver after {counted(messages, 'message')}: a warning names the cause; start "
        f"the driver if it has shut down, then {again}"
    )


def await_other_side(
    stream: Publication | ExclusivePublication | Subscription, timeout: float | None
) -> None:
    """Wait until a peer is connected; raise NotConnectedError after `timeout` seconds, None for no limit.

    Raises ClosedError if the stream is closed.
    """
    if not stream.is_connected and is_terminal():
        print_stderr(f"waiting until {stream.channel} stream {stream.stream_id} is connected")
    try:
        stream.await_connected(timeout)
    except NotConnectedError:
        has_security = ChannelUri.parse(stream.channel).get("security") is not None
        hint = (
            "; `aeron-core errors` on both hosts has the peers that security refuses" if has_security else ""
        )
        raise NotConnectedError(
            f"{stream.channel} stream {stream.stream_id} was not connected within {timeout:g} s: start its peer for "
            "the same channel and stream, or as many receivers as the flow control of a publication requires, or raise "
            f"--timeout{hint}"
        ) from None
