"""Built-in flow-control strategies."""
