"""Limits of image feeds; see `limits.pxd`."""
