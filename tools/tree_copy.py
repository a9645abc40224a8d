"""Copies of the tree for builds that must never replace those of the in-place build."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]


def copy_tree(copy: Path, takes_generated: Callable[[Path], bool] = lambda _: False) -> None:
    """Bring a copy up to date: sources, and the generated files, by their paths in the tree, that it takes."""
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    generated = [
        path.relative_to(ROOT)
        for root in ("aeron_core", "plugins")
        for suffix in ("c", "so")
        for path in (ROOT / root).rglob(f"*.{suffix}")
    ]
    wanted = {Path(name) for name in names} | {path for path in generated if takes_generated(path)}
    for path in sorted(wanted):
        source, target = ROOT / path, copy / path
        # With its time of change: what is up to date in the tree is not compiled again.
        if source.is_file() and (
            not target.exists() or target.stat().st_mtime_ns != source.stat().st_mtime_ns
        ):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    for suffix in ("py", "pyx", "pxd"):
        for path in copy.rglob(f"*.{suffix}"):
            relative = path.relative_to(copy)
            if relative.parts[0] != "build" and relative not in wanted:
                path.unlink()


def python_path(copy: Path) -> list[str]:
    """Return the source roots of a copy, for `PYTHONPATH`: they precede those of an editable installation."""
    return [str(copy), *sorted(str(path.parent) for path in copy.glob("plugins/*/*_*/"))]
