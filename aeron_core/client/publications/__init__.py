"""What a client publishes with."""
