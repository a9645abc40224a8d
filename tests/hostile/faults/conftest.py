"""Fixtures of the tests of the fault program."""

from __future__ import annotations

import os
import shutil

import pytest


@pytest.fixture
def machines():
    missing = None
    if os.geteuid() != 0:
        missing = "root, to create network namespaces"
    elif shutil.which("ip") is None:
        missing = "iproute2"
    if missing is not None:
        if os.environ.get("CI"):
            pytest.fail(f"these tests need {missing}; CI must run them")
        pytest.skip(f"tests between several machines need {missing}")
