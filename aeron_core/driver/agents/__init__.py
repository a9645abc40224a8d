"""Parts that the sender and the receiver share: polled endpoints, positions, counters, rate limits."""
