"""Protocols that end in a Python thread, as TLS and WebSocket do: the thread, its connections and sessions."""
