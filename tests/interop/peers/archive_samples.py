"""Writes a message of each kind of the Archive's schema, encoded by Aeron's own encoders.

`python tests/interop/peers/archive_samples.py tests/vectors/archive/messages.json`
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from java_peer import JavaPeer


def main(target: Path) -> None:
    """Write the file."""
    java = JavaPeer()
    samples = json.loads(java.call("archive-samples"))
    java.stop()
    lines = ",\n".join(json.dumps(sample) for sample in samples)
    target.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
