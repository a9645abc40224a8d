"""Tests of WebSocket, which comes with an extra."""

import pytest

pytest.importorskip("wsproto", reason="needs wsproto: pip install aeron-core[websocket]")
