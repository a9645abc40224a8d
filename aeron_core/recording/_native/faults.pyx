"""Faults of a frame of a recording; see `faults.pxd`."""
