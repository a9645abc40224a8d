"""SP PAIR, versions 1 and 0, over TCP, Unix sockets, TLS and WebSocket."""
