"""The life of a connection; see `ends.pxd`."""
