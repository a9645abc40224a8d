"""Registers the name resolvers."""

from __future__ import annotations

from collections.abc import Mapping

from aeron_core.spi.hookspecs import NameResolverFactory, hookimpl
from aeron_resolvers.csv_table import CsvTableNameResolver
from aeron_resolvers.driver import DriverNameResolver
from aeron_resolvers.system import SystemNameResolver


@hookimpl
def aeron_name_resolvers() -> Mapping[str, NameResolverFactory]:
    """See `aeron_core.spi.hookspecs`."""
    return {"default": SystemNameResolver, "driver": DriverNameResolver, "csv_table": CsvTableNameResolver}
