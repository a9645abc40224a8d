"""A node of a simulation that moves: its subscription at an address, its end, and what arrives after the move."""


def subscribe_at(simulation, address):
    """Return a driver at an address, and its subscription there."""
    driver = simulation.add_driver(address)
    channel = f"aeron:udp?endpoint={address}:20121"
    return driver, simulation.result(driver.connect().add_subscription_async(channel, 1001))


def cut_off(simulation, driver):
    """Stall a driver, and partition the network between it and the driver at 10.0.0.1."""
    for client in driver.clients:
        client.close()
    driver.clients.clear()
    driver.is_stalled = True
    simulation.network.partition("10.0.0.1", "10.0.0.2")


def first_messages(simulation, subscription):
    """Wait for messages, and return those of the first poll that has any."""
    received = []
    simulation.run_until(
        lambda: subscription.poll(lambda buffer, header: received.append(bytes(buffer)), 10) and received
    )
    return received
