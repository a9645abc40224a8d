"""Numbers of feeds; see `limits.pxd`."""
