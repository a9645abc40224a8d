"""SP over WebSocket: handshake, messages and sessions. Needs the extra aeron-core[websocket]."""
