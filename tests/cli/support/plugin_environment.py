"""A new environment with the packages of this one, into which pip installs new plugins."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path


def installed_in(folder: Path, *arguments: str | Path) -> Path:
    """Install what the arguments of pip name into a new environment, without the network; return its Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    site = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    # `site` also processes the .pth of an editable installation.
    (folder / site / "under_test.pth").write_text(
        f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n", encoding="utf-8"
    )
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--python",
        python,
        "install",
        "--quiet",
    ]
    done = subprocess.run(
        [*pip, "--no-index", "--no-deps", "--no-build-isolation", *arguments],
        # Without optimization, because the compiler takes most of the time.
        env=os.environ | {"CFLAGS": "-O0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return python
