"""Values that a request can contain."""

from __future__ import annotations

import pytest
from aeron_media.sp.websocket.params import WsParams

from aeron_core.errors import ConfigurationError

PAIR1 = "pair1.sp.nanomsg.org"


@pytest.mark.parametrize("path", ["/", "/x", "/a/b%20c", "/~a;b=c,d@e:f!$&'()*+[]"])
@pytest.mark.parametrize("host", ["localhost:80", "127.0.0.1", "[::1]:9999"])
def test_valid_paths_are_accepted(path, host):
    assert WsParams(PAIR1, host, path, 10).path == path


@pytest.mark.parametrize("path", ["", "x", "/a b", "/a?b", "/a#b", "/é", "/\r\nHost: b", "http://a/b"])
def test_a_path_that_a_request_cannot_contain_is_refused(path):
    with pytest.raises(ConfigurationError, match="must begin with / and contain no spaces"):
        WsParams(PAIR1, "localhost:80", path, 10)


@pytest.mark.parametrize("host", ["", "a b", "é", "a\r\nb", "a" * 256])
def test_a_host_that_is_none_is_refused(host):
    with pytest.raises(ConfigurationError, match="must be a host name or address with a port"):
        WsParams(PAIR1, host, "/", 10)


def test_a_subprotocol_that_is_not_of_pair_is_refused():
    with pytest.raises(
        ConfigurationError, match=r"'bus.sp.nanomsg.org': must be one of pair.sp.nanomsg.org, pair1"
    ):
        WsParams("bus.sp.nanomsg.org", "localhost:80", "/", 10)
