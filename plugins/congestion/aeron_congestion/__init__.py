"""Congestion controls that come with aeron-core."""
