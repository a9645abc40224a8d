"""Upload of finished segments to a remote archive."""
