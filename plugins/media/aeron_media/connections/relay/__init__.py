"""Protocols that a Python thread handles for the agents, such as TLS: the thread, its connections and sessions."""
