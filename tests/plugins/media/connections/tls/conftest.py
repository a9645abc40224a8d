"""TLS listeners and connections, closed after each test."""

from __future__ import annotations

import pytest
from tls_ends import Endpoints


@pytest.fixture
def endpoints():
    made = Endpoints()
    yield made
    made.close()
