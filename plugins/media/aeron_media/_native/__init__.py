"""Compiled parts that only media use: byte queues, relays, destination tables, interfaces, locks."""
