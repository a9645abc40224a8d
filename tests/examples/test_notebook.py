"""The notebook with a live plot: executed once, and committed without outputs."""

from __future__ import annotations

import base64
import json
import re

import pytest
from example_programs import EXAMPLES, in_half_a_minute

NOTEBOOK = EXAMPLES / "live_plot.ipynb"


def test_the_notebook_is_committed_without_outputs_and_counts():
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))

    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 5
    assert [cell["outputs"] for cell in cells] == [[]] * len(cells)
    assert {cell["execution_count"] for cell in cells} == {None}
    assert all(cell["metadata"] == {} for cell in notebook["cells"])
    # Versions and paths of one machine would change with each save.
    assert notebook["metadata"] == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }


def test_the_notebook_plots_the_stream_and_receives_every_reading():
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    nbformat = pytest.importorskip("nbformat")
    preprocessors = pytest.importorskip("nbconvert.preprocessors")
    notebook = nbformat.read(NOTEBOOK, as_version=4)

    with in_half_a_minute():
        preprocessors.ExecutePreprocessor(timeout=120, kernel_name="python3").preprocess(notebook)

    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert [output.output_type for output in outputs] == ["display_data", "stream"]
    figure, text = outputs
    assert base64.b64decode(figure.data["image/png"]).startswith(b"\x89PNG")
    received, position, length = re.match(
        r"([\d,]+) readings received, ([\d,]+) bytes read: (\d+) bytes for each\n", text.text
    ).groups()
    assert int(received.replace(",", "")) > 1000
    assert int(position.replace(",", "")) == int(received.replace(",", "")) * 64
    assert length == "64"
    assert re.search(r"^root mean square of the last [\d,]+: 0\.\d+ g$", text.text, re.M)
