"""Tests of SP over WebSocket; skipped without the extra `websocket`."""

import pytest

pytest.importorskip("wsproto", reason="needs wsproto: pip install aeron-core[websocket]")


@pytest.fixture(params=[True, False], ids=["listens", "dials"])
def end(request):
    from websocket_ends import End  # noqa: PLC0415 - imports wsproto

    return End(server_side=request.param)


@pytest.fixture
def endpoints():
    from websocket_endpoints import Endpoints  # noqa: PLC0415 - imports wsproto

    made = Endpoints()
    yield made
    made.close()


@pytest.fixture(params=["ws", "wss"])
def any_endpoints(request, certificates):
    from websocket_endpoints import Endpoints  # noqa: PLC0415 - imports wsproto

    made = Endpoints(certificates if request.param == "wss" else None)
    yield made
    made.close()
