"""Links and paths on the pages lead to files that exist, and each page is linked."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "changes").glob("*.md")])


def slug(heading):
    """Return the anchor of a heading, as GitHub derives it."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(path):
    """Return the anchors of a page."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    return {slug(heading) for heading in re.findall(r"^#+ (.+)$", text, re.M)}


def repository_paths(text):
    """Yield the paths of this repository that a page names."""
    for path in re.findall(
        r"`((?:aeron_core|plugins|tests|docs|benchmarks|examples|tools)/[\w./*-]*)`", text
    ):
        yield path
    for path in re.findall(r"^\S+/bin/python -m pytest (?:-\S+ (?:\"[^\"]*\" )?)*(tests/\S+)", text, re.M):
        yield path


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_existing_files_and_headings(path):
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)]+)", text):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        page = path.parent / file if file else path
        assert page.exists(), target
        if anchor:
            assert anchor in anchors(page), target


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_paths_in_the_text_exist(path):
    missing = [
        name
        for name in repository_paths(path.read_text(encoding="utf-8"))
        if not (list(ROOT.glob(name)) if "*" in name else (ROOT / name).exists())
    ]

    assert missing == []


def test_a_path_is_distinguished_from_a_module():
    text = "`aeron_core/no_file.py` `tests/interop/` `aeron_core.no_module`"

    assert list(repository_paths(text)) == ["aeron_core/no_file.py", "tests/interop/"]


def test_the_table_of_levels_names_each_package():
    text = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    table = {
        path.rstrip("/").removesuffix(".py")
        for row in re.findall(r"^\| [0-5] \|.*$", text, re.M)
        for path in repository_paths(row)
    }
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    [levels] = [each for each in contracts["contracts"] if each.get("containers") == ["aeron_core"]]

    assert table == {
        "plugins/spark",
        *(f"aeron_core/{name}" for layer in levels["layers"] for name in re.findall(r"\w+", layer)),
    }


def test_every_page_is_reachable_from_the_front_page():
    docs = ROOT / "docs"
    linked = {
        (index.parent / target).resolve()
        for index in (docs / "README.md", docs / "decisions" / "index.md")
        for target in re.findall(r"\]\(([^)#]+)", index.read_text(encoding="utf-8"))
        if "://" not in target
    }

    assert {path.resolve() for path in docs.rglob("*.md")} - linked - {docs / "README.md"} == set()
