"""Name resolution: lookups on helper threads, resolution, re-resolution of silent peers."""
