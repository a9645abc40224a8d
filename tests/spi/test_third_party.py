"""A third-party distribution is built, installed and used as by any user."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

pytestmark = pytest.mark.system

SOURCE = Path(__file__).parent / "third_party"


@pytest.fixture(scope="module")
def stranger_python(tmp_path_factory) -> Path:
    """Return a Python that has this installation and the third-party distribution."""
    root = tmp_path_factory.mktemp("stranger")
    shutil.copytree(SOURCE, root / "source")
    environment = root / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    site = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    # The installation under test, without another build. `site` also processes the .pth of an editable install.
    Path(site, "under_test.pth").write_text(
        f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n", encoding="utf-8"
    )
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--python", python, "install", "--quiet"),
            *("--no-build-isolation", "--no-deps", root / "source"),
        ],
        env=os.environ | {"CFLAGS": "-O0"},  # compiles in half of the time
        check=True,
    )
    return python


def run_stream(python: Path, name: str) -> dict:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    done = subprocess.run(
        [python, Path(__file__).with_name("run_stream.py"), name, str(port)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", ["plain", "compiled"])
def test_a_third_party_flow_control_runs_a_stream(stranger_python, name):
    result = run_stream(stranger_python, name)

    assert result["in_order"]
    assert result["calls"] > 0
    assert result["errors"] == []


def test_a_flow_control_that_raises_is_reported_once_and_its_stream_continues(stranger_python):
    result = run_stream(stranger_python, "raising")

    assert result["in_order"]
    assert result["calls"] == 1
    assert len(result["errors"]) == 1
    assert "raising" in result["errors"][0]
    assert "a stranger's mistake" in result["errors"][0]


def test_the_third_party_distribution_is_listed(stranger_python):
    script = (
        "from aeron_core.registry import Registry\n"
        "print([(p.name, p.distribution, p.version) for p in Registry.load().plugins()])"
    )
    listed = subprocess.run(
        [stranger_python, "-c", script], capture_output=True, text=True, check=True
    ).stdout

    assert "('stranger', 'stranger-flow', '1.2.3')" in listed
