"""Inputs of all fuzz targets: their seeds are accepted, and no invariant fails for what fuzzers have found."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from targets import CORPORA, NAMES, Target, load, read_corpus
from targets._simulations import close_all

MAX_CORPORA_LENGTH = 1 << 20
#: Libraries of optional features, which targets import.
OPTIONAL = {
    "dashboard_requests": ("starlette",),
    "spark_payloads": ("pyarrow", "google.protobuf"),
    "spark_staging": ("pyarrow",),
}


@pytest.fixture(autouse=True)
def simulations() -> Iterator[None]:
    yield
    close_all()


def loaded(name: str) -> Target:
    for library in OPTIONAL.get(name, ()):
        pytest.importorskip(library)
    return load(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_target_accepts_its_seeds(name):
    target = loaded(name)
    seeds = list(target.seeds())

    assert seeds
    assert [seed for seed in seeds if not target.check(seed)] == []


@pytest.mark.parametrize("name", NAMES)
def test_no_input_of_a_corpus_breaks_an_invariant(name):
    target, corpus = loaded(name), read_corpus(name)

    assert corpus
    for data in corpus:
        target.check(data)


def test_each_corpus_belongs_to_a_target():
    assert sorted(path.stem for path in CORPORA.iterdir()) == NAMES


def test_corpora_are_small():
    assert sum(path.stat().st_size for path in CORPORA.iterdir()) <= MAX_CORPORA_LENGTH
