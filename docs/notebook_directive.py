"""The directive `notebook`: the cells of a Jupyter notebook, by its path from the page, without running them.

    ```{notebook} ../examples/live_plot.ipynb
    ```

The title of the notebook is that of the section which has the directive. Not here: outputs, which are not committed;
a test executes the notebook.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


def markdown_of(notebook: dict[str, list[dict[str, str | list[str]]]]) -> Iterator[str]:
    """Yield the lines of a notebook as Markdown, code as fenced blocks."""
    for cell in notebook["cells"]:
        lines = "".join(cell["source"]).splitlines()
        if cell["cell_type"] == "code":
            yield from ("```python", *lines, "```", "")
        else:
            yield from (*(line for line in lines if not line.startswith("# ")), "")


class NotebookDirective(SphinxDirective):
    """Shows the notebook that is its argument."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the text and the code of the cells."""
        name, path = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(name)
        with open(path, encoding="utf-8") as file:
            lines = [*markdown_of(json.load(file))]
        container = nodes.Element()
        self.state.nested_parse(StringList(lines, name), self.content_offset, container)
        return container.children


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("notebook", NotebookDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
