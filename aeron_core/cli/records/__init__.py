"""Commands that record streams, and those that list, export, verify, purge and replay recordings."""
