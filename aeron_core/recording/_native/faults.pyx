"""What may be wrong with a frame of a recording; see `faults.pxd`."""
