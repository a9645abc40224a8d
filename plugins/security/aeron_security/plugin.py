"""Registers the datagram protector `group-secret`, and the commands for its keys."""

from __future__ import annotations

from collections.abc import Mapping

from aeron_core.spi.hookspecs import DatagramProtectorFactory, hookimpl


@hookimpl
def aeron_datagram_protectors() -> Mapping[str, DatagramProtectorFactory | str]:
    """Return the built-in protectors by their names in `protector` of a security profile."""
    return {"group-secret": "aeron_security.group_secret:GroupSecretProtector"}
