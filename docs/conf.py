"""Configuration of the documentation site, which `make docs` builds in a folder for its version.

Beside that folder the build writes `index.html`, which leads to the latest release, and `versions.js`, the list from
which every page chooses another version. Both name all versions that are in folders there.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import sys
from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

project = "aeron-core"
copyright = author = "The aeron-core authors"  # noqa: A001 - the name of the setting
release = runpy.run_path(str(DOCS.parent / "aeron_core" / "version.py"))["VERSION"]
#: The name of the folder, such as `0.1.0`, or `dev` for the main branch.
version = os.environ.get("DOCS_VERSION") or release

extensions = ["myst_parser", "sphinx_external_toc", "api_directive", "notebook_directive"]
# `index.md` is a link to it: on GitHub, the folder shows the front page.
exclude_patterns = ["README.md"]
templates_path = ["_templates"]

html_theme = "furo"
html_title = f"aeron-core {version}"
html_copy_source = False
html_show_sphinx = False
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}

# `make links` checks external links. GitHub writes its anchors with a prefix, which only its scripts remove.
linkcheck_anchors_ignore_for_url = [r"https://github\.com/"]
linkcheck_timeout = 30
linkcheck_retries = 3

# As GitHub derives anchors from headings.
myst_heading_anchors = 4
highlight_language = "text"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"


def write_versions(app: Sphinx, exception: Exception | None) -> None:
    """Write the list of versions and the page that leads to the latest one, beside the folder of this version."""
    if exception or app.builder.name != "html":
        return
    site = app.outdir.parent
    found = [folder.name for folder in site.iterdir() if (folder / "objects.inv").exists()]
    releases = [name for name in found if re.fullmatch(r"\d+(\.\d+)*", name)]
    releases.sort(key=lambda name: [int(part) for part in name.split(".")], reverse=True)
    versions = [*releases, *sorted(set(found) - set(releases))]
    (site / "versions.js").write_text(f"const VERSIONS = {json.dumps(versions)};\n", encoding="utf-8")
    links = "".join(f'<li><a href="{name}/index.html">{name}</a></li>\n' for name in versions)
    (site / "index.html").write_text(
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{project}</title>\n'
        f'<meta http-equiv="refresh" content="0; url={versions[0]}/index.html">\n<ul>\n{links}</ul>\n</html>\n',
        encoding="utf-8",
    )


def setup(app: Sphinx) -> None:
    """Connect the list of versions to the end of a build."""
    app.connect("build-finished", write_versions)
