import warnings

import pytest

import aeron_core
from aeron_core.driver.socket_lengths import cut_lengths
from aeron_core.settings import DriverSettings
from aeron_core.uri.values import INT32_MAX


def test_a_setting_without_effect_warns_the_caller_that_starts_a_driver(tmp_path):
    settings = {
        "aeron_dir": tmp_path / "driver",
        "counters_buffer_length": "1m",
        "dynamic_libraries": ["x.so"],
    }

    with pytest.warns(UserWarning, match="AERON_DRIVER_DYNAMIC_LIBRARIES.*without effect") as caught:
        aeron_core.MediaDriver.launch(settings).close()

    assert caught[0].filename == __file__


def test_an_invalid_variable_warns_a_client(tmp_path, monkeypatch):
    settings = {"aeron_dir": tmp_path / "driver", "counters_buffer_length": "1m"}
    with aeron_core.MediaDriver.launch(settings) as driver:
        monkeypatch.setenv("AERON_CLIENT_PRE_TOUCH_MAPPED_MEMORY", "maybe")
        with pytest.warns(UserWarning, match="AERON_CLIENT_PRE_TOUCH_MAPPED_MEMORY=maybe") as caught:
            aeron_core.connect(driver.aeron_dir).close()

    assert caught[0].filename == __file__


def test_valid_settings_cause_no_warning(tmp_path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        aeron_core.MediaDriver.launch(
            {"aeron_dir": tmp_path / "driver", "counters_buffer_length": "1m"}
        ).close()

    assert caught == []


@pytest.mark.parametrize(
    ("name", "limit"),
    [("socket_so_rcvbuf_length", "net.core.rmem_max"), ("socket_so_sndbuf_length", "net.core.wmem_max")],
)
def test_a_reduced_socket_buffer_is_reported_with_its_limit(name, limit):
    settings = DriverSettings(**{name: "64m"})

    (text,) = cut_lengths(settings, lambda option, asked: min(asked, 2**23))

    assert "=67108864: the operating system gives 8388608 bytes only" in text
    assert limit in text


def test_granted_socket_buffers_cause_no_warning():
    assert not list(cut_lengths(DriverSettings(), lambda option, asked: asked * 2))


def test_a_reduced_socket_buffer_warns_the_caller_that_starts_a_driver(tmp_path):
    # Linux grants an even number of bytes, at most one less than this.
    settings = {
        "aeron_dir": tmp_path / "driver",
        "counters_buffer_length": "1m",
        "socket_so_rcvbuf_length": INT32_MAX,
    }

    with pytest.warns(UserWarning, match="AERON_SOCKET_SO_RCVBUF=2147483647.*net.core.rmem_max"):
        aeron_core.MediaDriver(settings, invoker=True).close()
