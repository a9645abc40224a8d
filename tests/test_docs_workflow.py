"""The workflow that publishes the documentation: it is valid, and keeps the folders of all versions."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

WORKFLOW = Path(__file__).parents[1] / ".github" / "workflows" / "docs.yml"

pytestmark = pytest.mark.system


def git(folder, *arguments):
    return subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    ).stdout


@pytest.fixture
def origin(tmp_path):
    """Return a bare repository with a branch `main`."""
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", "origin")
    git(tmp_path, "clone", "--quiet", "origin", "author")
    git(tmp_path / "author", "commit", "--quiet", "--allow-empty", "--message", "begin")
    git(tmp_path / "author", "push", "--quiet", "origin", "HEAD:main")
    return tmp_path / "origin"


def publish(origin, clone, version, page):
    """Run the commands of the workflow in a new clone, with a page in place of what `make docs` writes."""
    yaml = pytest.importorskip("yaml")
    git(origin.parent, "clone", "--quiet", "origin", clone)
    [job] = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"].values()
    ran = []
    for step in job["steps"]:
        command = step.get("run", "")
        if command.startswith("make docs"):
            folder = f'"build/docs/{version.removeprefix("v")}"'
            command = f"test ! -e {folder}; mkdir -p {folder}; echo {page} > {folder}/index.html"
        subprocess.run(
            ["bash", "-e", "-c", command],
            cwd=origin.parent / clone / step.get("working-directory", "."),
            env=os.environ | {"DOCS_VERSION": version},
            check=True,
            capture_output=True,
        )
        ran.append(step.get("name"))
    assert {"fetch the site", "publish"} <= set(ran)


def test_the_workflow_is_valid():
    pytest.importorskip("check_jsonschema")

    subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", WORKFLOW],
        check=True,
    )


def test_each_version_has_a_folder_on_the_site_and_is_replaced_alone(origin):
    publish(origin, "first", "dev", "old")
    publish(origin, "second", "v0.1.0", "released")
    publish(origin, "third", "dev", "new")

    names = git(origin, "ls-tree", "-r", "--name-only", "gh-pages").split()
    assert names == [".nojekyll", "0.1.0/index.html", "dev/index.html"]
    assert git(origin, "show", "gh-pages:dev/index.html") == "new\n"
    assert git(origin, "show", "gh-pages:0.1.0/index.html") == "released\n"


def test_a_build_that_changes_nothing_is_published(origin):
    publish(origin, "first", "dev", "same")
    publish(origin, "second", "dev", "same")

    assert git(origin, "show", "gh-pages:dev/index.html") == "same\n"
