"""Compiled parts that only media use, such as byte queues, relays, destination tables and locks."""
