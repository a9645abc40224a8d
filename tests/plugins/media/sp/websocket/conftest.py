"""Tests of SP over WebSocket; skipped without the extra `websocket`."""

import pytest

pytest.importorskip("wsproto", reason="needs wsproto: pip install aeron-core[websocket]")
