"""Access to the page: the address that it is served at, the token, and TLS.

Invariant: no address but loopback without a token.
"""

from __future__ import annotations

import ipaddress
import os
import ssl
import stat
from pathlib import Path
from typing import Final

from aeron_core.errors import AeronError, ConfigurationError, StorageError
from aeron_core.frozen import frozen
from aeron_core.uri.addresses import ADDRESS_ALLOWED, HostPort, parse_address

#: Characters of a token. Invented: 16 random letters and digits have 95 bits.
MIN_TOKEN_LENGTH: Final = 16
MAX_TOKEN_LENGTH: Final = 1024
#: Names of this machine in a URL.
LOOPBACK_NAMES: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
_OF_OTHERS: Final = 0o077


@frozen()
class Access:
    """Where the page is served, and what it requires."""

    address: HostPort
    hosts: frozenset[str] = frozenset()  # names in the header Host, without port; empty beyond loopback: any
    token: str = ""  # empty: none is required
    tls: ssl.SSLContext | None = None


def access_of(listen: str, token_file: Path | None, cert: Path | None, key: Path | None) -> Access:
    """Return the access that the options of the command describe.

    Raises ConfigurationError if an option is wrong, or if the address is not loopback and there is no token;
    StorageError if the token cannot be read.
    """
    try:
        address = parse_address(listen)
    except AeronError:
        # Not the text of this error, which has the address again.
        raise ConfigurationError(f"--listen={listen}: {ADDRESS_ALLOWED}") from None
    is_local = is_loopback(address)
    if token_file is None and not is_local:
        raise ConfigurationError(
            f"--listen={address}: other hosts reach this address, so --token-file must name a file with a token; "
            "or listen on 127.0.0.1"
        )
    literal = f"[{address.host}]" if address.is_ipv6 else address.host
    return Access(
        address,
        LOOPBACK_NAMES | {literal.lower()} if is_local else frozenset(),
        "" if token_file is None else read_token(token_file),
        tls_context(cert, key),
    )


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
                f"{os.geteuid()} and be readable by no other; chmod 600 it, and make a new token"
            )
        data = os.read(fd, MAX_TOKEN_LENGTH + 2)
    finally:
        os.close(fd)
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


def tls_context(cert: Path | None, key: Path | None) -> ssl.SSLContext | None:
    """Return a context with a certificate, None without one; raise ConfigurationError if it cannot be used."""
    if cert is None:
        if key is not None:
            raise ConfigurationError(f"--tls-key={key}: must be given with --tls-cert")
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(cert, key, password=_no_passphrase)
    except (OSError, ValueError) as error:
        # An SSLError is an OSError, and its text names no file.
        reason = getattr(error, "strerror", None) or str(error)
        names = f"--tls-cert={cert}" + ("" if key is None else f", --tls-key={key}")
        raise ConfigurationError(
            f"{names}: {reason}; must be PEM files with a certificate and its key, which has no passphrase"
        ) from None
    return context


def client_context(ca: Path | None) -> ssl.SSLContext:
    """Return a context that verifies servers; raise ConfigurationError if the file with authorities cannot be used."""
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigurationError(f"--from-ca={ca}: {reason}; must be a PEM file with certificates") from None


def _no_passphrase() -> str:
    raise ValueError("the key has a passphrase")
