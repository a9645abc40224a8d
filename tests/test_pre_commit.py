"""The hooks of pre-commit: their configuration is valid, their programs are installed, and they get the right files."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

CONFIGURATION = Path(__file__).parents[1] / ".pre-commit-config.yaml"

yaml = pytest.importorskip("yaml")
(repository,) = yaml.safe_load(CONFIGURATION.read_text(encoding="utf-8"))["repos"]
HOOKS = {hook["id"]: hook for hook in repository["hooks"]}


@pytest.mark.system
def test_pre_commit_accepts_the_configuration():
    pytest.importorskip("pre_commit")

    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "validate-config", CONFIGURATION],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("hook", HOOKS)
def test_the_program_of_a_hook_is_installed(hook):
    (program,) = (part for part in shlex.split(HOOKS[hook]["entry"]) if part.startswith(".venv/bin/"))

    assert (Path(sys.executable).parent / Path(program).name).is_file()


@pytest.mark.parametrize(
    ("path", "hooks"),
    [
        ("aeron_core/registry.py", {"ruff-check", "ruff-format", "mypy", "import-linter"}),
        ("aeron_core/_native/wire.pyi", {"ruff-check", "ruff-format", "mypy", "import-linter"}),
        ("aeron_core/_native/wire.pyx", {"cython-lint"}),
        ("plugins/media/aeron_media/udp/send_endpoint.pxd", {"cython-lint"}),
        # The configuration of both, and the contracts of import-linter.
        ("pyproject.toml", {"mypy", "import-linter"}),
        ("examples/other/pyproject.toml", set()),
        ("README.md", set()),
    ],
)
def test_a_hook_runs_for_the_files_that_its_tool_reads(path, hooks):
    assert {name for name, hook in HOOKS.items() if re.search(hook["files"], path)} == hooks
