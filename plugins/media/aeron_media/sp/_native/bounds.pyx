"""Limits and intervals of connections; see `bounds.pxd`."""
