"""Structures shared by threads and processes: rings, counters, the error log, the loss report."""
