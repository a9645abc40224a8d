"""The command `demo`, and the log that it sends if the system has none."""
