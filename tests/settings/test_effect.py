"""Every setting has an effect, or states that it has none."""

import re
from pathlib import Path

import pytest

import aeron_core
from aeron_core.settings import ClientSettings, DriverSettings, load_driver_settings

PACKAGE = Path(aeron_core.__file__).parent
OWN = PACKAGE / "settings"
SOURCES = "\n".join(
    path.read_text(encoding="utf-8")
    for root in (PACKAGE, PACKAGE.parent / "plugins")
    for path in sorted(root.rglob("*.py"))
    if OWN not in path.parents
)
# These properties pass on the defaults of channels and the induced loss, which are not read one by one.
DEFAULTS = "".join(
    re.search(rf"def {name}\(.*?(?=\n    @property|\Z)", (OWN / file).read_text(encoding="utf-8"), re.S)[0]
    for file, name in (
        ("driver.py", "publication_defaults"),
        ("driver.py", "subscription_defaults"),
        ("diagnostics.py", "incoming_losses"),
    )
)
SETTINGS = [(model, name) for model in (DriverSettings, ClientSettings) for name in model.model_fields]


def is_read(name: str) -> bool:
    # getattr(settings, f"{role}_idle_strategy")
    of_role = re.sub(r"^(conductor|sender|receiver|sharednetwork|shared)_", "{role}_", name)
    return re.search(rf"\.{name}\b", SOURCES + DEFAULTS) is not None or (
        of_role != name and f'f"{of_role}"' in SOURCES
    )


@pytest.mark.parametrize(("model", "name"), SETTINGS, ids=lambda part: getattr(part, "__name__", part))
def test_a_setting_is_read_unless_it_is_without_effect(model, name):
    without_effect = model.variable(name).without_effect

    if without_effect:
        assert not is_read(name), f"{name} has an effect: remove its without_effect"
    else:
        assert is_read(name), f"{name} is never read: use it, or set without_effect"


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("AERON_AGENT_ON_START_FUNCTION", "on_start"),
        ("AERON_UDP_CHANNEL_OUTGOING_INTERCEPTORS", "loss"),
        ("AERON_DRIVER_DYNAMIC_LIBRARIES", "libextra.so"),
    ],
)
def test_a_setting_without_effect_is_a_warning(variable, text):
    [warning] = load_driver_settings(environ={variable: text}).warnings

    assert warning.startswith(f"{variable} (environment {variable}): accepted, without effect: ")
