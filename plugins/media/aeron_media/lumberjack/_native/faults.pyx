# cython: freethreading_compatible=True
"""Faults of a connection; see `faults.pxd`, and `fault_texts` for the messages."""
