import warnings

import pytest

import aeron_core
from aeron_core.concurrent.mapped_file import open_mapped_file
from aeron_core.driver.socket_lengths import cut_lengths, os_max_rcvbuf_length
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.settings import DriverSettings
from aeron_core.uri.values import INT32_MAX

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"


def test_who_makes_a_driver_is_told_of_a_setting_that_has_no_effect(tmp_path):
    settings = {
        "aeron_dir": tmp_path / "driver",
        "counters_buffer_length": "1m",
        "dynamic_libraries": ["x.so"],
    }

    with pytest.warns(UserWarning, match="AERON_DRIVER_DYNAMIC_LIBRARIES.*without effect") as heard:
        aeron_core.MediaDriver.launch(settings).close()

    assert heard[0].filename == __file__


def test_a_client_is_told_of_a_variable_that_cannot_be_understood(tmp_path, monkeypatch):
    settings = {"aeron_dir": tmp_path / "driver", "counters_buffer_length": "1m"}
    with aeron_core.MediaDriver.launch(settings) as driver:
        monkeypatch.setenv("AERON_CLIENT_PRE_TOUCH_MAPPED_MEMORY", "maybe")
        with pytest.warns(UserWarning, match="AERON_CLIENT_PRE_TOUCH_MAPPED_MEMORY=maybe") as heard:
            aeron_core.connect(driver.aeron_dir).close()

    assert heard[0].filename == __file__


def test_settings_that_are_in_order_are_passed_over_in_silence(tmp_path):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        aeron_core.MediaDriver.launch(
            {"aeron_dir": tmp_path / "driver", "counters_buffer_length": "1m"}
        ).close()

    assert heard == []


@pytest.mark.parametrize(
    ("name", "limit"),
    [("socket_so_rcvbuf_length", "net.core.rmem_max"), ("socket_so_sndbuf_length", "net.core.wmem_max")],
)
def test_a_socket_buffer_that_the_system_cuts_is_told_with_what_limits_it(name, limit):
    settings = DriverSettings(**{name: "64m"})

    (text,) = cut_lengths(settings, lambda option, asked: min(asked, 2**23))

    assert "=67108864: the operating system gives 8388608 bytes only" in text
    assert limit in text


def test_socket_buffers_that_the_system_gives_are_passed_over_in_silence():
    assert not list(cut_lengths(DriverSettings(), lambda option, asked: asked * 2))


def test_who_makes_a_driver_is_told_of_a_socket_buffer_that_the_system_cuts(tmp_path):
    # Linux gives an even number of bytes, at most one less than this.
    settings = {
        "aeron_dir": tmp_path / "driver",
        "counters_buffer_length": "1m",
        "socket_so_rcvbuf_length": INT32_MAX,
    }

    with pytest.warns(UserWarning, match="AERON_SOCKET_SO_RCVBUF=2147483647.*net.core.rmem_max"):
        aeron_core.MediaDriver(settings, invoker=True).close()


def test_the_log_of_a_stream_says_what_the_system_gives(start_pair):
    pair = start_pair(socket_so_rcvbuf_length="256k")
    pair.add_subscription(CHANNEL, 1001)
    publication = pair.add_publication(CHANNEL, 1001)
    pair.run_until(lambda: publication.is_connected)

    (image,) = pair.receiver.aeron_dir.glob("images/*.logbuffer")
    metadata = LogBuffer(open_mapped_file(image, read_only=True)).metadata()

    assert metadata.socket_rcvbuf_length == 256 * 1024
    assert metadata.os_max_socket_rcvbuf_length == os_max_rcvbuf_length(
        DriverSettings(socket_so_rcvbuf_length="256k")
    )
    assert metadata.os_max_socket_sndbuf_length == metadata.os_default_socket_sndbuf_length > 0
