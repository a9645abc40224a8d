import warnings

import pytest

import aeron_core


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
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        aeron_core.MediaDriver.launch(
            {"aeron_dir": tmp_path / "driver", "counters_buffer_length": "1m"}
        ).close()
