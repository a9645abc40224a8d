"""The command line `aeron-core`: one module per command, each a thin layer over the library."""
