"""Readers of recordings: messages, replay, export, verification."""
