"""Sealed datagrams: what needs pointers."""
