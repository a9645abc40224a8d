"""Compiled parts that only media use: queues, relays, tables, locks."""
