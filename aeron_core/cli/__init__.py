"""The command `aeron-core`."""
