"""Wire format of SP PAIR; see `wire.pxd`."""
