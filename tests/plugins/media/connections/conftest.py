"""A process without free descriptors."""

from __future__ import annotations

import os
import resource

import pytest


@pytest.fixture
def no_descriptors():
    """Leave the process no free descriptor."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = os.dup(0)
    # All numbers below the limit are used, unless one was freed below the highest: use those up too.
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, before[1]))
    taken = [highest]
    try:
        while True:
            taken.append(os.dup(0))
    except OSError:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for descriptor in taken:
            os.close(descriptor)
