"""Reasons of ends and of messages that are not sent; see `reasons.pxd`, and `pair_params` for the messages."""
