"""The media driver: conductor, sender, receiver, and their shared parts."""
