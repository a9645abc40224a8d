"""Drivers of a simulation that gossip, and what their counters show."""


def start(simulation, name, address, *neighbors, interface=None, **settings):
    """Start a driver that gossips on port 8050 of its address with its neighbors."""
    host = f"[{address}]" if ":" in address else address
    return simulation.add_driver(
        address,
        name_resolver="driver",
        resolver_name=name,
        resolver_interface=interface or f"{host}:8050",
        resolver_bootstrap_neighbors=neighbors,
        **settings,
    )


def value(driver, prefix):
    """Return the value of a counter, by the beginning of its label."""
    return driver.find_counter(prefix).value


def names(driver):
    """Return the number of names that a driver has learnt."""
    return value(driver, "Resolver cache entries")
