"""Reasons why a connection ended; see `end_reasons.pxd`."""
