# cython: freethreading_compatible=True
"""Codes of the operations between the conductor and the agents; see `operations.pxd`."""
