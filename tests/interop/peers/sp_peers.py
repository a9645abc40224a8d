"""A Python that has nng, made where it is missing, and kept between runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

KEPT = Path(__file__).parents[3] / ".venv-sp"
FROM_PYPI = ["pynng==0.9.0"]


def make_python() -> Path:
    """Return it."""
    marker, content = KEPT / "made", "\n".join([sys.version, *FROM_PYPI])
    python = KEPT / "bin" / "python"
    if not marker.exists() or marker.read_text(encoding="utf-8") != content:
        subprocess.run([sys.executable, "-m", "venv", "--clear", KEPT], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *FROM_PYPI], check=True)
        marker.write_text(content, encoding="utf-8")
    return python
