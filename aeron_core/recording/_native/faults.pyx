# cython: freethreading_compatible=True
"""Faults of a frame of a recording; see `faults.pxd`."""
