"""Subscriptions, their images, and the reassembly of fragments."""
