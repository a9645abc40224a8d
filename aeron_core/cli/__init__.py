"""The command `aeron-core`: one file a command, each a thin face over the library."""
