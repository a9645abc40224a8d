"""Publications and the claims and batches that they accept."""
