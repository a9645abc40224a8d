"""The media driver: conductor, sender, receiver, and what they work with."""
