"""Constants of Lumberjack frames; see `wire.pxd`."""
