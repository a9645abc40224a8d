"""Native parts of recordings: the numbers of faults (faults), and checksums (sums)."""
