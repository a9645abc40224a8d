"""The life of a connection; see `phases.pxd`."""
