"""`aeron-core top`: a view of drivers and streams on a terminal, which is updated continuously."""
