# cython: freethreading_compatible=True
"""Limits and intervals of connections; see `bounds.pxd`."""
