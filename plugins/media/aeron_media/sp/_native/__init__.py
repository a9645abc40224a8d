"""Numbers of SP PAIR."""
