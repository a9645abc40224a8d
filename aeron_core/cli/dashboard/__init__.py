"""`aeron-core dashboard`: drivers and streams in a browser, updated while they run."""
