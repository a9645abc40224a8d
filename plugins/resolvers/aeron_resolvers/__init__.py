"""Name resolvers that come with aeron-core."""
