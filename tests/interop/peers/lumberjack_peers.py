"""Foreign Lumberjack programs, built if they are missing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from peer_programs import make_environment, make_go_program, make_once

ROOT = Path(__file__).parents[3]
PEERS = ROOT / "tests" / "interop" / "lumberjack" / "peers"
KEPT = ROOT / ".venv-lumberjack"
FROM_PYPI = ["pylogbeat==2.1.0", "python-logstash-async==4.1.0", "timbersnake==0.1.0"]
FROM_NPM = ["lumberjack-client@1.0.3", "lumberjack-protocol@1.0.7", "bunyan-lumberjack@1.1.3"]


def make_python() -> Path:
    """Return a Python with the peers from PyPI."""
    return make_environment(KEPT / "python", FROM_PYPI)


def make_golumber() -> Path | None:
    """Return the program around go-lumber, None without Go."""
    return make_go_program(PEERS / "golumber", KEPT / "golumber")


def make_node_modules() -> Path | None:
    """Return the folder of the npm packages, None without Node."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        return None
    folder = KEPT / "node"

    def make() -> None:
        folder.mkdir(parents=True, exist_ok=True)
        quiet = ["--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--silent"]
        subprocess.run([npm, "install", *quiet, "--prefix", folder, *FROM_NPM], check=True)

    make_once(folder, "\n".join(FROM_NPM), make)
    return folder / "node_modules"
