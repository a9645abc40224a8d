# cython: freethreading_compatible=True
"""Constants of the wire and of the shared files, defined in `wire.pxd`."""
