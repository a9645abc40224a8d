"""Exit codes, and messages in one line.

    0     success
    1     failure: no driver or peer, no space, a port in use, another driver; of `driver` also a usage error
    2     usage error: arguments, settings, channel, plugins; of `driver`: stopped by SIGINT
    15    a driver that SIGTERM has stopped
    128+n signal number n has stopped a command that does not handle it, or `bench`: 130 for SIGINT, 143 for SIGTERM

Any other exception is a bug, and shows a traceback.
"""

from __future__ import annotations

import errno
import select
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, Final, TextIO

from aeron_core.errors import AeronError, ConfigurationError, ErrorCode, PluginError, RegistrationError

if TYPE_CHECKING:
    import typer

EXIT_OK: Final = 0
EXIT_FAILURE: Final = 1
EXIT_USAGE: Final = 2
EXIT_INTERRUPTED: Final = 130

#: Characters of the longest message, and of what remains of its end. Invented: a message repeats what the user wrote,
#: and a channel may have 4095 bytes.
_MAX_MESSAGE_LENGTH: Final = 2000
_LAST_PART: Final = 500
#: Error codes of a driver for usage errors.
_USAGE_ERRORS: Final = (ErrorCode.INVALID_CHANNEL, ErrorCode.NOT_SUPPORTED)


def is_writable(stream: TextIO | None) -> bool:
    """Return whether a line can be written to `stream` without waiting for a reader; False for a closed stream or None.

    None is the stream of a descriptor that was closed when the process started.
    """
    if stream is None:
        return False
    try:
        return bool(select.select([], [stream], [], 0)[1])
    except ValueError:
        # The stream is closed, has no descriptor, or one that `select` does not support.
        return not stream.closed


def is_tty(stream: TextIO | None) -> bool:
    """Return whether `stream` is a terminal; False for a closed stream, and for none (see `is_writable`)."""
    return stream is not None and not stream.closed and stream.isatty()


def standard_input() -> BinaryIO:
    """Return the standard input; raise OSError if it was closed when the process started."""
    if sys.stdin is None:
        raise OSError(errno.EBADF, "the standard input is closed: redirect it, or name a file with --input")
    return sys.stdin.buffer


def standard_output() -> BinaryIO:
    """Return the standard output; raise OSError if it was closed when the process started."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, "the standard output is closed: redirect it, or name a file with --output")
    return sys.stdout.buffer


def print_stderr(text: str) -> None:
    """Print a message for the user, apart from the command's output; drop it if stderr cannot be written."""
    if sys.stderr is None:
        # With None as the file, `print` would write to stdout.
        return
    with suppress(OSError):
        print(f"aeron-core: {_without_middle(printable(text))}", file=sys.stderr)


def printable(text: str, kept: str = "\t\n") -> str:
    """Return `text` with its control characters escaped: a terminal would execute those of a value or of a peer.

    Characters in `kept` are not escaped.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in kept else ascii(letter)[1:-1] for letter in text
    )


def _without_middle(text: str) -> str:
    """Return `text`, without its middle if it is longer than 2000 characters: the cause and the remedy remain."""
    if len(text) <= _MAX_MESSAGE_LENGTH:
        return text
    return f"{text[: _MAX_MESSAGE_LENGTH - _LAST_PART]} ... {text[-_LAST_PART:]}"


def ended(code: int) -> typer.Exit:
    """Return the exception that ends the command with an exit code; the caller raises it."""
    import typer  # noqa: PLC0415 - lazy: a driver without options starts without it

    return typer.Exit(code)


def failed(text: str) -> typer.Exit:
    """Print why the command failed, and return the exception that ends it."""
    print_stderr(f"error: {text}")
    return ended(EXIT_FAILURE)


def is_help(error: BaseException) -> bool:
    """Return whether an exception carries the help of a group that was named without a command."""
    # typer's own exception, which has no public name.
    return type(error).__name__ == "NoArgsIsHelpError"


def exit_code_of(error: BaseException) -> int | None:
    """Return the exit code of an expected error, None for a bug of this program."""
    if isinstance(error, ConfigurationError | PluginError):
        return EXIT_USAGE
    if isinstance(error, RegistrationError):
        return EXIT_USAGE if error.code in _USAGE_ERRORS else EXIT_FAILURE
    if isinstance(error, AeronError | OSError):
        return EXIT_FAILURE
    typer = sys.modules.get("typer")
    if typer is not None and isinstance(error, typer.Abort):
        return EXIT_FAILURE
    # typer exports no class for usage errors only; all errors that it shows to the user have this method.
    return EXIT_USAGE if hasattr(error, "format_message") else None


def message_of(error: BaseException) -> str:
    """Return the message of an exception, in one line."""
    if hasattr(error, "format_message"):
        text = str(error.format_message())
    elif isinstance(error, OSError) and not isinstance(error, AeronError):
        text = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
    elif isinstance(error, OSError) and error.strerror:
        # Without `[Errno 28]`, which adds nothing to the text.
        text = error.strerror
    else:
        text = str(error)
    return " ".join(text.split()) or type(error).__name__
