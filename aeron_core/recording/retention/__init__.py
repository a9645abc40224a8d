"""Which segments are kept, and how the others are purged."""
