"""Registers the datagram protectors `group-secret` and `identities`, and the commands for their keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from aeron_core.spi.hookspecs import DatagramProtectorFactory, hookimpl

if TYPE_CHECKING:
    import typer


@hookimpl
def aeron_datagram_protectors() -> Mapping[str, DatagramProtectorFactory | str]:
    """Return the built-in protectors by their names in `protector` of a security profile."""
    return {
        "group-secret": "aeron_security.group_secret:GroupSecretProtector",
        "identities": "aeron_security.identities:IdentityProtector",
    }


@hookimpl
def aeron_cli(app: typer.Typer) -> None:
    """Add `aeron-core keys`."""
    from aeron_security.commands import keys_app  # noqa: PLC0415 - imports typer, for the command line only

    app.add_typer(keys_app, name="keys")
