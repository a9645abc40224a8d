"""Access to a page or endpoint that others may reach: which addresses are loopback, tokens, and that of the metrics.

Invariant: metrics are served at another address than loopback only with a token, or if the user waives it.
"""

from __future__ import annotations

import ipaddress
import os
import stat
from pathlib import Path
from typing import Final

from aeron_core.errors import AeronError, ConfigurationError, StorageError
from aeron_core.frozen import frozen
from aeron_core.uri.addresses import ADDRESS_ALLOWED, HostPort, parse_address

#: Characters of a token. Invented: 16 random letters and digits have 95 bits.
MIN_TOKEN_LENGTH: Final = 16
MAX_TOKEN_LENGTH: Final = 1024
_OF_OTHERS: Final = 0o077


@frozen()
class MetricsAccess:
    """Where metrics are served, and the token that a request must have, empty for none."""

    address: HostPort
    token: str = ""

    @classmethod
    def of(cls, metrics: str, token_file: Path | None, *, is_open: bool) -> MetricsAccess:
        """Return the access by the options --metrics, --metrics-token-file and --metrics-open.

        Raises ConfigurationError if one is wrong, or other hosts reach the address and there is neither a token nor
        --metrics-open; StorageError if the token cannot be read.
        """
        address = metrics_address(metrics)
        if token_file is not None:
            if is_open:
                raise ConfigurationError(
                    f"--metrics-open: contradicts --metrics-token-file={token_file}: give only one of them"
                )
            return cls(address, read_token(token_file, "--metrics-token-file"))
        if not (is_open or is_loopback(address)):
            raise ConfigurationError(
                f"--metrics={address}: other hosts reach this address, so --metrics-token-file must name a file with a "
                "token; or serve them on 127.0.0.1, or to everyone with --metrics-open"
            )
        return cls(address)


def checked_access(metrics: str | None, token_file: Path | None, *, is_open: bool) -> MetricsAccess | None:
    """Return the access by the options, None without --metrics; raises as `MetricsAccess.of`."""
    if metrics is not None:
        return MetricsAccess.of(metrics, token_file, is_open=is_open)
    if token_file is not None or is_open:
        raise ConfigurationError("--metrics-token-file and --metrics-open: must be given with --metrics")
    return None


def metrics_address(text: str) -> HostPort:
    """Parse the value of an option --metrics, HOST:PORT; raise ConfigurationError if it is malformed."""
    try:
        return parse_address(text)
    except AeronError:
        # Not the text of this error, which has the address again.
        raise ConfigurationError(f"--metrics={text}: {ADDRESS_ALLOWED}") from None


def is_loopback(address: HostPort) -> bool:
    """Return whether only this machine reaches an address; a name other than localhost may be anything."""
    if address.host == "localhost":
        return True
    try:
        return ipaddress.ip_address(address.host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def read_token(path: Path, option: str = "--token-file") -> str:
    """Return the token of a file that only this user can read.

    Raises ConfigurationError if others can read it, or it has no token; StorageError if it cannot be read.
    """
    data = read_private(path, option, MAX_TOKEN_LENGTH + 2, "make a new token")
    token = data.decode("latin-1").strip()
    if (
        not MIN_TOKEN_LENGTH <= len(token) <= MAX_TOKEN_LENGTH
        or not token.isascii()
        or not token.isprintable()
    ):
        raise ConfigurationError(
            f"{option}={path}: must have one line of {MIN_TOKEN_LENGTH} to {MAX_TOKEN_LENGTH} printable ASCII "
            "characters, such as that of `openssl rand -hex 32`"
        )
    return token


def read_private(path: Path, option: str, length: int, renewal: str) -> bytes:
    """Return at most `length` bytes of a file that only this user can read.

    `renewal`: what a user should do if others could read it, for the message. Raises ConfigurationError if they can,
    or it is no regular file; StorageError if it cannot be read.
    """
    try:
        # O_NONBLOCK: the path may be a named pipe, which would block until a writer opens it.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise StorageError(error.errno, f"cannot read {option}={path}: {error.strerror}") from error
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise ConfigurationError(f"{option}={path}: must be a regular file")
        if status.st_mode & _OF_OTHERS or status.st_uid not in (os.geteuid(), 0):
            raise ConfigurationError(
                f"{option}={path}: mode {stat.S_IMODE(status.st_mode):o}, of user {status.st_uid}: must belong to user "
                f"{os.geteuid()} and be readable by no other; chmod 600 it, and {renewal}"
            )
        return os.read(fd, length)
    finally:
        os.close(fd)
