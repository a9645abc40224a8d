"""The prose of the repository uses the standard terms of the field: `tools/prose` counts the words that hide them."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOOL = runpy.run_path(str(ROOT / "tools" / "prose"))
SAMPLE = ROOT / "tools" / "prose-sample"
#: Hits per 1 000 words. Measured over Doc/library/asyncio*.rst of CPython: 33 hits in 30 893 words.
LIMIT = 1.07


@pytest.mark.parametrize("folder", ["aeron_core", "plugins", "docs", "benchmarks", "examples", "tests"])
def test_prose_uses_standard_terms(folder, monkeypatch):
    monkeypatch.chdir(ROOT)

    hits, words = TOOL["measure"](folder)

    assert words > 0
    assert 1000 * len(hits) / words <= LIMIT, f"run tools/prose --list {folder}; first: {hits[:20]}"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("the peer that hears nobody", ["hears", "nobody"]),
        ("tell a client which way it goes", ["tell", "way"]),
        ("round-trip and one-way latency, a two-way handshake", []),
        ("an 8-byte field of the trailer", []),
        ("the words of a text", ["words"]),
        ("Saying so, for ever", ["Saying", "for ever"]),
        ("the `says` of a code span", ["says"]),
    ],
)
def test_the_terms_that_are_counted(text, found):
    assert TOOL["banned"](text) == found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def _told_when(self):", ["told"]),
        ("    async def says_none():", ["says"]),
        ("class TheWord(Base):", ["Word"]),
        ("class NobodyHears:", ["Nobody", "Hears"]),
        ("    cdef bint _give_way(self) noexcept nogil", ["way"]),
        ("    cpdef int32_t words_for(self) except -1", ["words"]),
        ("cdef class Room:", ["Room"]),
        ("def always(keyword, headroom):", []),
        ("def test_a_peer_whose_handler_raises():", []),
        ("cdef class OneWayEstimate:", []),
        ("    says = 1", []),
    ],
)
def test_the_terms_that_are_counted_in_names(source, found):
    assert [term for _, name in TOOL["defined_names"](source) for term in TOOL["banned"](name)] == found


@pytest.mark.parametrize(
    "folder", ["aeron_core", "plugins", "docs", "benchmarks", "examples", "tests", "tools"]
)
def test_no_name_hides_a_standard_term(folder):
    sources = [
        path
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".pyx", ".pxd", ".pyi"} or (folder == "tools" and path.suffix == "")
        if path.is_file() and "build" not in path.relative_to(ROOT).parts
    ]
    names = [
        (path, name)
        for path in sources
        for _, name in TOOL["defined_names"](path.read_text(encoding="utf-8"))
    ]

    assert names
    assert [(path, name) for path, name in names if TOOL["banned"](name)] == []


def test_code_spans_and_code_blocks_of_markdown_are_no_prose():
    source = "Use `tell()` here.\n```\nwho says\n```\nA [link](who.md).\n"

    prose = " ".join(text for _, text in TOOL["markdown_prose"](source))

    assert TOOL["banned"](prose) == []
    assert "Use" in prose


def test_comments_and_long_strings_of_python_are_prose_and_names_are_not():
    source = 'said = 1  # who\nx = "nobody says it to us"\ny = "said"\n'

    prose = " ".join(text for _, text in TOOL["python_prose"](source))

    assert TOOL["banned"](prose) == ["who", "nobody", "says"]


@pytest.mark.system
def test_a_sample_of_the_prose_depends_on_the_seed_only():
    first, again, other = (_sample(seed) for seed in (7, 7, 8))

    assert first == again
    assert first != other
    for kind in ("docstrings", "comments", "errors"):
        assert first.count(f"--- {kind} ") == 3


def _sample(seed):
    command = [
        sys.executable,
        str(SAMPLE),
        "--seed",
        str(seed),
        "--count",
        "3",
        "--folders",
        "aeron_core/uri",
    ]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
