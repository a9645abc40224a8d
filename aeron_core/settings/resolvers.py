"""Settings: name resolution, and the gossip of names between drivers."""

from typing import Annotated, Final

from aeron_core.settings.fields import SettingsFields, setting
from aeron_core.settings.timeouts import MS, S
from aeron_core.settings.variables import Duration, Integer, Text, Texts

MAX_BOOTSTRAP_NEIGHBORS: Final = 20  # aeron_driver_name_resolver.c
_RESOLVERS: Final = {
    "aeron_default_name_resolver_supplier": "default",
    "aeron_driver_name_resolver_supplier": "driver",
    "aeron_csv_table_name_resolver_supplier": "csv_table",
}


class ResolverSettings(SettingsFields):
    """Name resolution."""

    name_resolver: Annotated[str, Text("AERON_NAME_RESOLVER_SUPPLIER", aliases=_RESOLVERS)] = setting(
        "default", description="Name resolver: default, driver, csv_table or a plugin's name."
    )
    name_resolver_init_args: Annotated[str | None, Text("AERON_NAME_RESOLVER_INIT_ARGS", optional=True)] = (
        setting(None, description="Arguments of the name resolver, such as the rows of csv_table.")
    )
    name_resolver_csv_lookup_table_args: Annotated[
        str | None,
        Text(
            "AERON_NAME_RESOLVER_CSV_LOOKUP_TABLE_ARGS",
            optional=True,
            without_effect="the reference declares it and reads AERON_NAME_RESOLVER_INIT_ARGS",
        ),
    ] = setting(None, description="Not read; see name_resolver_init_args.")
    resolver_name: Annotated[str | None, Text("AERON_DRIVER_RESOLVER_NAME", optional=True)] = setting(
        None, description="Name of this driver for other drivers."
    )
    resolver_interface: Annotated[str | None, Text("AERON_DRIVER_RESOLVER_INTERFACE", optional=True)] = (
        setting(
            None, description="Address to listen on for other drivers, host:port; requires resolver_name."
        )
    )
    resolver_bootstrap_neighbors: Annotated[
        tuple[str, ...],
        Texts(
            "AERON_DRIVER_RESOLVER_BOOTSTRAP_NEIGHBOR",
            MAX_BOOTSTRAP_NEIGHBORS,
            strict=True,
        ),
    ] = setting((), description="First neighbours, host:port, separated by commas.")
    resolver_fallback: Annotated[str, Text("AERON_CORE_RESOLVER_FALLBACK", aliases=_RESOLVERS)] = setting(
        "default",
        description="Name resolver for names that name_resolver cannot resolve; used by driver, and by plugins that "
        "support a fallback.",
    )
    resolver_fallback_init_args: Annotated[
        str | None, Text("AERON_CORE_RESOLVER_FALLBACK_INIT_ARGS", optional=True)
    ] = setting(None, description="Arguments of resolver_fallback, such as the rows of csv_table.")
    resolver_neighbor_timeout_ns: Annotated[int, Duration("AERON_DRIVER_RESOLVER_NEIGHBOR_TIMEOUT", MS)] = (
        setting(10 * S, description="Time without gossip after which a neighbour is removed.")
    )
    resolver_self_resolution_interval_ns: Annotated[
        int, Duration("AERON_DRIVER_RESOLVER_SELF_RESOLUTION_INTERVAL", MS)
    ] = setting(1 * S, description="Interval at which this driver sends its own name.")
    resolver_neighbor_resolution_interval_ns: Annotated[
        int, Duration("AERON_DRIVER_RESOLVER_NEIGHBOR_RESOLUTION_INTERVAL", MS)
    ] = setting(2 * S, description="Interval at which this driver sends the names of its neighbours.")
    resolver_bootstrap_neighbor_resolution_interval_ns: Annotated[
        int,
        Duration("AERON_DRIVER_RESOLVER_BOOTSTRAP_NEIGHBOR_RESOLUTION_INTERVAL", MS),
    ] = setting(
        10 * S, description="Interval at which the addresses of bootstrap neighbours are resolved again."
    )
    resolver_datagrams_per_s: Annotated[
        int, Integer("AERON_CORE_RESOLVER_DATAGRAMS_PER_S", 100, 1_000_000)
    ] = setting(
        1600,
        description="Maximum number of datagrams that driver sends to other drivers per second; more wait. A cluster "
        "of n drivers needs about 1.5 n, more if the names do not fit into one packet.",
    )
    reresolution_check_interval_ns: Annotated[int, Duration("AERON_DRIVER_RERESOLUTION_CHECK_INTERVAL")] = (
        setting(
            1 * S, description="Interval at which endpoints without traffic are resolved again; 0 for never."
        )
    )
