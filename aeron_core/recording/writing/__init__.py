"""Writing of recordings: recorder, recording writer, recovery, and batch appender."""
