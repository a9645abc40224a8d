"""Media that come with aeron-core."""
