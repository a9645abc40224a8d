"""Lumberjack over TCP: acknowledged events in, acknowledged events out."""
