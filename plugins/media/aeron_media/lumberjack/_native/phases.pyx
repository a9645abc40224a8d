"""Phases of a connection; see `phases.pxd`."""
