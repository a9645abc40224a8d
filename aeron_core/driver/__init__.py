"""The media driver: its three agents, their assembly, its directory and its event log."""
