"""Progress of a query, read from its checkpoint."""

from pathlib import Path


def batch_counts(checkpoint: Path) -> tuple[int, int]:
    """Return the numbers of batches that were planned, and committed, so far.

    Not the number of files: Spark deletes those of old batches, of which it keeps 100.
    """
    planned, committed = (
        max(
            (int(path.name) + 1 for path in (checkpoint / kind).glob("[0-9]*") if path.name.isdigit()),
            default=0,
        )
        for kind in ("offsets", "commits")
    )
    return planned, committed
