"""Registers the name resolvers."""

from __future__ import annotations

from collections.abc import Mapping

from aeron_core.spi.hookspecs import NameResolverFactory, hookimpl


@hookimpl
def aeron_name_resolvers() -> Mapping[str, NameResolverFactory | str]:
    """See `aeron_core.spi.hookspecs`."""
    return {
        "default": "aeron_resolvers.system:SystemNameResolver",
        "driver": "aeron_resolvers.driver:DriverNameResolver",
        "csv_table": "aeron_resolvers.csv_table:CsvTableNameResolver",
    }
