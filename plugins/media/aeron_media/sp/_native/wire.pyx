"""The bytes of SP PAIR; their numbers are in `wire.pxd`."""
