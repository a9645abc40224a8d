"""Registers the name resolvers."""

from __future__ import annotations

from collections.abc import Mapping

from aeron_core.spi.hookspecs import NameResolverFactory, hookimpl


@hookimpl
def aeron_name_resolvers() -> Mapping[str, NameResolverFactory | str]:
    """Return the built-in name resolvers by their names in the setting `name_resolver`."""
    return {
        "default": "aeron_resolvers.system:SystemNameResolver",
        "driver": "aeron_resolvers.driver:DriverNameResolver",
        "csv_table": "aeron_resolvers.csv_table:CsvTableNameResolver",
    }
