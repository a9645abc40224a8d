"""A plugin-based, embeddable Aeron media driver and client for Python."""
