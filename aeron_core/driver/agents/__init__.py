"""Parts that the sender and the receiver share: base class, endpoints, positions, counters, limits, latency."""
