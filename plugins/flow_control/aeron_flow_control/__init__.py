"""Flow controls that come with aeron-core."""
