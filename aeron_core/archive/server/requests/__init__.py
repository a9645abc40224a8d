"""Requests of clients, by what they change, and the streams on which they arrive."""
