"""Tells retention what a query has still to read."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

from aeron_core.recording import Archive, names


def write_lease(archive: Archive, name: str, positions: Mapping[int, int]) -> None:
    """Keep what lies behind these positions, by recording id, from being purged."""
    lease = {
        "version": 1,
        "name": name,
        "positions": {str(key): positions[key] for key in sorted(positions)},
        "updated_ns": time.time_ns(),
    }
    archive.store.write(f"{names.CONSUMERS}/{name}.json", json.dumps(lease).encode() + b"\n")
