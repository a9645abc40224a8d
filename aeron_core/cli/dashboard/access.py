"""Access to the page: the address that it is served at, the token, and TLS.

Invariant: no address but loopback without a token.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Final

from aeron_core.errors import AeronError, ConfigurationError
from aeron_core.frozen import frozen
from aeron_core.metrics.access import is_loopback, read_token
from aeron_core.uri.addresses import ADDRESS_ALLOWED, HostPort, parse_address

#: Names of this machine in a URL.
LOOPBACK_NAMES: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})


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
