"""The binary interface of the plugin API changes only together with SPI_VERSION."""

from __future__ import annotations

import re
import runpy
import shutil
from pathlib import Path

import pytest

from aeron_core._native import wire

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "spi-digest"))
FLOW_CONTROL = Path("aeron_core", "spi", "flow_control.pxd")
FRAME_HEADER = Path("aeron_core", "protocol", "frames", "header.pxd")
WIRE = Path("aeron_core", "_native", "wire.pxd")


@pytest.fixture
def copy(tmp_path) -> Path:
    """Copy the declarations of the API, so that a test may change them."""
    for path in TOOL["declarations"](ROOT):
        target = tmp_path / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    return tmp_path


def change(root: Path, path: Path, pattern: str, replacement: str) -> None:
    text = (root / path).read_text(encoding="utf-8")
    changed, count = re.subn(pattern, replacement, text, count=1)
    assert count == 1
    (root / path).write_text(changed, encoding="utf-8")


def test_the_declarations_are_those_recorded_for_this_version():
    assert (TOOL["version"](), TOOL["digest"]()) == TOOL["recorded"](), (
        "see the docstring of tools/spi-digest"
    )


def test_the_version_is_that_of_the_compiled_core():
    assert TOOL["version"]() == wire.SPI_VERSION


@pytest.mark.parametrize(
    ("path", "pattern", "replacement"),
    [
        (FLOW_CONTROL, r"(?m)^    cdef ", "    cdef int64_t new\n    cdef "),
        (FRAME_HEADER, r"(?m)^cdef class Frame:\n", "cdef class Frame:\n    cdef public int32_t new\n"),
        (WIRE, r"FRAME_ALIGNMENT = 32", "FRAME_ALIGNMENT = 64"),
    ],
)
def test_a_changed_declaration_changes_the_digest(copy, path, pattern, replacement):
    change(copy, path, pattern, replacement)

    assert TOOL["digest"](copy) != TOOL["digest"]()


def test_comments_and_blank_lines_do_not_change_the_digest(copy):
    change(copy, FLOW_CONTROL, r"(?m)^(cdef class \w+:)$", r"# A comment.\n\n\1  # another")

    assert TOOL["digest"](copy) == TOOL["digest"]()


@pytest.mark.parametrize("arguments", [[], ["--update"]])
def test_a_change_is_rejected_while_the_version_stays(copy, arguments, capsys):
    record = copy / "record.txt"
    TOOL["main"](["--update"], copy, record)
    before = record.read_text(encoding="utf-8")
    change(copy, FLOW_CONTROL, r"(?m)^    cdef ", "    cdef int64_t new\n    cdef ")

    assert TOOL["main"](arguments, copy, record) == 1
    assert "SPI_VERSION" in capsys.readouterr().err
    assert record.read_text(encoding="utf-8") == before


def test_a_change_is_recorded_with_a_new_version(copy):
    record = copy / "record.txt"
    TOOL["main"](["--update"], copy, record)
    change(copy, FLOW_CONTROL, r"(?m)^    cdef ", "    cdef int64_t new\n    cdef ")
    change(copy, WIRE, r"SPI_VERSION = \d+", "SPI_VERSION = 1000")

    assert TOOL["main"](["--update"], copy, record) == 0
    assert TOOL["recorded"](record) == (1000, TOOL["digest"](copy))


def test_a_compatible_change_is_recorded_for_the_same_version(copy):
    record = copy / "record.txt"
    TOOL["main"](["--update"], copy, record)
    change(copy, WIRE, r"SPI_VERSION = (\d+)", r"SPI_VERSION = \1\n    NEW = 7")

    assert TOOL["main"](["--update", "--compatible"], copy, record) == 0
    assert TOOL["recorded"](record) == (wire.SPI_VERSION, TOOL["digest"](copy))
