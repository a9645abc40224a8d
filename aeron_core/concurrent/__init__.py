"""Structures that several threads and processes share: rings, counters, the error log, the loss report."""
