"""TLS for media with connections: URI keys, contexts and sessions."""
