"""The compatibility table matches the tests in this folder."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.interop

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "compatibility.md"


def test_every_tested_row_is_in_the_table_and_works(request):
    if request.config.getoption("--write-compatibility"):
        pytest.skip("the table is written at the end of this run")
    text = PAGE.read_text(encoding="utf-8")
    shown = [dict(item.user_properties).get("compatible") for item in request.session.items]

    missing = [row for row in shown if row is not None and f"| {row[0]} | {row[1]} | works |" not in text]

    assert not missing, "run `pytest tests/interop --write-compatibility`"
