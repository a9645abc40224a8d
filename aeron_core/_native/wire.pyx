"""Constants of the wire and of the shared files; see `wire.pxd`."""
