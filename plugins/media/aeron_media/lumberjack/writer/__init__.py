"""Publications: an endpoint that sends, and its connections to the readers."""
