"""Subscriptions: an endpoint that listens, and the connections of the writers that it accepted."""
