"""The documentation site: built as `make docs` builds it, it is complete, linked, searchable, and needs no network."""

import html
import json
import posixpath
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parent.parent
#: Elements and their attributes with what a browser loads at once.
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "object": "data"}

pytestmark = pytest.mark.system


class Page(HTMLParser):
    """The ids and links of a page, and what it loads."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loaded = {""}, set(), set()
        self.text = path.read_text(encoding="utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids.add(found.get("id"))
        if tag == "a":
            self.links.add(found.get("href") or "")
        if target := found.get(LOADED.get(tag, "")):
            self.loaded.add(target)


@pytest.fixture(scope="module")
def folder(documentation):
    """Return the folder of the version, beside which the build has written what leads to all versions."""
    return documentation.folder


@pytest.fixture(scope="module")
def pages(folder):
    """Return the pages of the version by their paths in its folder."""
    return {path.relative_to(folder).as_posix(): Page(path) for path in sorted(folder.rglob("*.html"))}


def test_every_page_of_the_documentation_is_in_the_navigation(pages):
    navigation = {link.partition("#")[0] for link in pages["index.html"].links}
    written = {
        path.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        for path in (ROOT / "docs").rglob("*.md")
        if path != ROOT / "docs" / "README.md"
    }

    assert len(written) > 70
    assert written - navigation == {"index.html"}


def test_links_within_the_site_lead_to_pages_and_headings(folder, pages):
    broken = []
    for name, page in pages.items():
        for link in page.links | page.loaded:
            target = urlsplit(link)
            if target.scheme:
                continue
            path = posixpath.normpath(
                posixpath.join(posixpath.dirname(name), unquote(target.path) or posixpath.basename(name))
            )
            found = pages.get(path)
            if not (folder / path).exists() or (found and unquote(target.fragment) not in found.ids):
                broken.append(f"{name}: {link}")

    assert broken == []


def test_pages_load_nothing_from_other_hosts(folder, pages):
    loaded = {target for page in pages.values() for target in page.loaded}
    styles = "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.css"))
    pictures = [path.read_text(encoding="utf-8") for path in folder.rglob("*.svg")]

    assert "_static/styles/furo.css" in {urlsplit(target).path for target in pages["index.html"].loaded}
    assert [target for target in loaded if urlsplit(target).netloc] == []
    assert re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)\"']*", styles + "".join(pictures)) == []


def test_a_search_without_a_server_finds_terms_and_objects(folder, pages):
    index = (folder / "searchindex.js").read_text(encoding="utf-8")
    search = json.loads(index.removeprefix("Search.setIndex(").removesuffix(")"))

    # A page that is opened from a folder may load scripts, but not read files.
    assert "searchindex.js" in pages["search.html"].loaded
    assert {"lumberjack", "heartbeat", "multicast"} <= search["terms"].keys()
    assert "reference/client" in search["docnames"]
    assert "offer" in {entry[-1] for entry in search["objects"]["aeron_core.Publication"]}


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no Chromium")
def test_a_browser_searches_a_site_that_it_opens_from_a_folder(folder, tmp_path):
    page = (folder / "search.html").as_uri()

    done = subprocess.run(
        [
            *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000"),
            *(f"--user-data-dir={tmp_path}", "--dump-dom", f"{page}?q=try_claim"),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )

    assert "reference/client.html#aeron_core.Publication.try_claim" in done.stdout
    assert '<option value="0.0.9">' in done.stdout


def test_every_page_chooses_among_the_versions_beside_it(folder, pages):
    site = folder.parent

    assert (site / "versions.js").read_text() == f'const VERSIONS = ["{folder.name}", "0.0.9"];\n'
    assert f"url={folder.name}/index.html" in (site / "index.html").read_text()
    assert "./../versions.js" in pages["index.html"].loaded
    assert "../../versions.js" in pages["reference/client.html"].loaded


def test_pictures_are_on_the_front_page(pages):
    pictures = {Path(target).name for target in pages["index.html"].loaded if target.startswith("_images/")}

    assert {"top.svg", "soak.png"} <= pictures


def text_of(page):
    """Return the text of a page without markup."""
    return html.unescape(re.sub(r"<[^>]+>", "", page.text))


def test_the_site_has_the_examples_and_the_notebook_as_they_are_tested(pages):
    sources = text_of(pages["example-sources.html"])
    programs = sorted((ROOT / "examples").rglob("*.py"))
    notebook = json.loads((ROOT / "examples" / "live_plot.ipynb").read_text(encoding="utf-8"))

    assert len(programs) >= 8
    assert [path.name for path in programs if path.read_text(encoding="utf-8").strip() not in sources] == []
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell for cell in code if cell not in sources] == []
    assert "The plot is live: update replaces the figure in place." in sources
    assert "_images/live_plot.png" in pages["example-sources.html"].loaded


def test_the_site_shows_what_the_readmes_of_the_examples_show(pages):
    readmes = [path.read_text(encoding="utf-8") for path in (ROOT / "examples").rglob("README.md")]
    shown = text_of(pages["examples.html"])

    outputs = [each for text in readmes for each in re.findall(r"\n\n```\n(.*?)\n```\n", text, re.DOTALL)]
    assert len(outputs) == 9
    assert [output for output in outputs if output not in shown] == []
    pictures = {f"_images/{path.name}" for path in (ROOT / "examples/pictures").iterdir()}
    assert pictures <= pages["examples.html"].loaded


def test_signatures_of_compiled_classes_have_types(pages):
    text = re.sub(r"<[^>]+>", "", pages["reference/client.html"].text)
    text = re.sub(r"\s+", " ", text)

    assert "send( data: BytesLike | list[BytesLike] | tuple[BytesLike, ...], *, timeout: float" in text
    assert "property is_connected: bool" in text
    # From the .pxd.
    assert "join_position: int" in text
    assert "position at which the subscription began to read" in text


def test_code_in_a_guide_links_to_the_object_that_it_names(pages):
    links = pages["how-to/survive-a-driver-restart.html"].links

    assert any(link.startswith("../reference/") and "#aeron_core." in link for link in links)
