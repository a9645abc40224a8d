"""The tests named in docs/wire/sp-pair1.md exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[4]
PAGE = ROOT / "docs" / "wire" / "sp-pair1.md"


def test_each_test_that_the_page_names_is_there():
    named = set(re.findall(r"`(test_\w+)`", PAGE.read_text(encoding="utf-8")))
    files = Path(__file__).parent.glob("test_*.py")
    there = {
        name
        for file in files
        for name in re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.M)
    }
    assert len(named) > 20
    assert named <= there
