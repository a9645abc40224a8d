"""Built-in congestion-control strategies."""
