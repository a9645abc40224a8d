"""Settings of a client: defaults, environment and the table [client] of a TOML file."""

from pathlib import Path

import pytest

from aeron_core.errors import ConfigurationError
from aeron_core.settings import load_client_settings

S = 1_000_000_000


def test_client_settings_have_the_defaults_of_the_reference():
    settings = load_client_settings(environ={"USER": "u"}).settings

    assert settings.aeron_dir == Path("/dev/shm/aeron-u")
    assert (settings.driver_timeout_ms, settings.client_name) == (10_000, "")
    assert (settings.resource_linger_duration_ns, settings.idle_sleep_duration_ns) == (3 * S, 16_000_000)
    assert (settings.keepalive_interval_ns, settings.use_conductor_agent_invoker) == (500_000_000, False)
    assert settings.pre_touch_mapped_memory is False


def test_client_settings_come_from_the_environment_and_a_toml_table(write):
    file = write("a.toml", "[client]\nclient_name = 'file'\n[driver]\nmtu_length = 64\n")
    environ = {
        "AERON_DIR": "/tmp/a",
        "AERON_DRIVER_TIMEOUT": "500",
        "AERON_CLIENT_IDLE_SLEEP_DURATION": "1ms",
    }

    loaded = load_client_settings(files=[file], environ=environ)

    assert (loaded.settings.aeron_dir, loaded.settings.driver_timeout_ms) == (Path("/tmp/a"), 500)
    assert (loaded.settings.client_name, loaded.sources["client_name"]) == ("file", "file a.toml")
    assert loaded.settings.idle_sleep_duration_ns == 1_000_000


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("AERON_DRIVER_TIMEOUT", "5s"),
        ("AERON_CLIENT_IDLE_SLEEP_DURATION", "x"),
        ("AERON_CLIENT_RESOURCE_LINGER_DURATION", "x"),
        ("AERON_CLIENT_NAME", "x" * 101),
    ],
)
def test_client_refuses_a_wrong_variable(variable, text):
    with pytest.raises(ConfigurationError, match=f"{variable}={text}"):
        load_client_settings(environ={variable: text})
