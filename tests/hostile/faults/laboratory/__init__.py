"""Faults of whole systems: drivers, clients and recorders on machines of a network that fail by a seeded plan."""
