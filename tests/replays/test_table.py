"""The table of scenarios is complete."""

from pathlib import Path

import pytest
from captures import VECTORS

HERE = Path(__file__).parent
TABLE = (HERE / "README.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TABLE.splitlines()
    if line.startswith("|") and not line.startswith(("|---", "| scenario"))
]


def test_the_table_has_every_scenario():
    assert {row[0] for row in ROWS} == {path.stem for path in VECTORS.glob("*.json")}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_scenario_is_named_in_the_tests_that_the_table_names(row):
    name, *places, _ = row
    files = {word.strip(",") for place in places for word in place.split() if word.startswith("test_")}

    for file in files:
        assert f'"{name}"' in (HERE / f"{file}.py").read_text(encoding="utf-8")
