"""Checks of a machine before a driver runs on it: `aeron-core doctor`."""
