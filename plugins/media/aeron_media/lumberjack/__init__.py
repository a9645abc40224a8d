"""Lumberjack over TCP and TLS: acknowledged events in, acknowledged events out."""
