"""Throughput and latency of this machine: `aeron-core bench`."""
