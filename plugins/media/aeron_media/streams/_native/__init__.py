"""Numbers that compiled modules of media with connections share."""
