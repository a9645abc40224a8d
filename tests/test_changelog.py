"""Fragments in `changes/` become sections of `CHANGELOG.md` by towncrier."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FRAGMENTS = [path for path in sorted((ROOT / "changes").glob("*.md")) if path.name != "README.md"]

pytestmark = pytest.mark.system


def towncrier(folder, *options):
    return subprocess.run(
        [sys.executable, "-m", "towncrier", "build", "--version", "9.8.7", "--date", "2026-01-31", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def repository(tmp_path):
    """Return a repository with the fragments and the configuration of this one."""
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "changes", tmp_path / "changes")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    return tmp_path


def test_a_release_moves_each_fragment_to_the_changelog(repository):
    done = towncrier(repository, "--yes")

    text = (repository / "CHANGELOG.md").read_text(encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert text.index("# Changelog") < text.index("## 9.8.7 (2026-01-31)") < text.index("### Added")
    assert text.index("### Added") < text.index("### Changed") < text.index("### Fixed")
    assert [
        path.name for path in FRAGMENTS if path.read_text(encoding="utf-8").split("\n")[0] not in text
    ] == []
    assert text.count("\n- ") >= len(FRAGMENTS)
    assert not list((repository / "changes").glob("*.fixed.md"))


def test_a_fragment_of_an_unknown_kind_is_an_error(repository):
    (repository / "changes" / "speed.improved.md").write_text("Everything is faster.\n")

    done = towncrier(repository, "--draft")

    assert done.returncode != 0
    assert "speed.improved.md" in done.stdout + done.stderr
