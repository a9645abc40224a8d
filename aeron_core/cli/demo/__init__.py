"""The command `demo`, and the log that it sends when the system has none."""
