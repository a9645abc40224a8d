"""Programs of others that speak Lumberjack, made where they are missing, and kept between runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
PEERS = ROOT / "tests" / "interop" / "lumberjack" / "peers"
KEPT = ROOT / ".venv-lumberjack"
FROM_PYPI = ["pylogbeat==2.1.0", "python-logstash-async==4.1.0", "timbersnake==0.1.0"]
FROM_NPM = ["lumberjack-client@1.0.3", "lumberjack-protocol@1.0.7", "bunyan-lumberjack@1.1.3"]
#: Where it is unpacked by its own instructions, besides the search path.
GO_HOME = "/usr/local/go/bin"


def _is_made(marker: Path, content: str) -> bool:
    return marker.exists() and marker.read_text(encoding="utf-8") == content


def make_python() -> Path:
    """Return a Python that has the peers of PyPI."""
    environment = KEPT / "python"
    marker, content = environment / "made", "\n".join([sys.version, *FROM_PYPI])
    python = environment / "bin" / "python"
    if not _is_made(marker, content):
        subprocess.run([sys.executable, "-m", "venv", "--clear", environment], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *FROM_PYPI], check=True)
        marker.write_text(content, encoding="utf-8")
    return python


def make_golumber() -> Path | None:
    """Return the program around go-lumber, None without Go; Go itself knows what is to be built again."""
    go = shutil.which("go", path=f"{os.environ.get('PATH', '')}{os.pathsep}{GO_HOME}")
    if go is None:
        return None
    program = KEPT / "golumber"
    # No other Go is fetched than the one that is there.
    options = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly"}
    command = [go, "build", "-o", program, "."]
    subprocess.run(command, cwd=PEERS / "golumber", env={**os.environ, **options}, check=True)
    return program


def make_node_modules() -> Path | None:
    """Return the folder of the packages of npm, None without Node."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        return None
    folder = KEPT / "node"
    marker, content = folder / "made", "\n".join(FROM_NPM)
    if not _is_made(marker, content):
        folder.mkdir(parents=True, exist_ok=True)
        quiet = ["--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--silent"]
        subprocess.run([npm, "install", *quiet, "--prefix", folder, *FROM_NPM], check=True)
        marker.write_text(content, encoding="utf-8")
    return folder / "node_modules"
