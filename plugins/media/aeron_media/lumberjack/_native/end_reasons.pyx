# cython: freethreading_compatible=True
"""Reasons why a connection ended; see `end_reasons.pxd`."""
