# cython: freethreading_compatible=True
"""Limits of image feeds; see `limits.pxd`."""
