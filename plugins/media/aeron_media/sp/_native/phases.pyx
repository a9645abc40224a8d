# cython: freethreading_compatible=True
"""Phases of a connection; see `phases.pxd`."""
