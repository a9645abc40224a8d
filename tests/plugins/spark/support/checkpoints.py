"""Progress of a query, read from its checkpoint."""

import os
from pathlib import Path


def batch_counts(checkpoint: Path) -> tuple[int, int]:
    """Return the numbers of batches that were planned, and committed, so far.

    Not the number of files: Spark deletes those of old batches, of which it keeps 100.
    """
    planned, committed = (batches(checkpoint / kind) for kind in ("offsets", "commits"))
    return planned, committed


def batches(log: Path) -> int:
    """Return the number of batches in a log; tests look each 10 ms, which must leave time for what they wait for."""
    try:
        names = os.listdir(log)
    except FileNotFoundError:
        return 0
    return max((int(name) + 1 for name in names if name.isdigit()), default=0)
