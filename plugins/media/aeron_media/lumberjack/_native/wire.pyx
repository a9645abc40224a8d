"""The frames of Lumberjack; their numbers are in `wire.pxd`."""
