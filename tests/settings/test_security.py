"""Security profiles from each source of settings."""

import pytest

from aeron_core.errors import ConfigurationError
from aeron_core.settings import DriverSettings
from aeron_core.settings.loader import load_driver_settings
from aeron_core.settings.variables import SecurityProfile

ORDERS = SecurityProfile("orders", "group-secret", (("secret_file", "/etc/aeron/orders.key"),))
TRADES = SecurityProfile("trades_2", "signed", (("secret_file", "/a b=c"), ("cipher", "none")))
TEXT = "orders,secret_file=/etc/aeron/orders.key|trades_2,protector=signed,secret_file=/a b=c,cipher=none"
TOML = """
[driver]
max_resend = 5
[security.orders]
secret_file = "/etc/aeron/orders.key"
[security.trades_2]
protector = "signed"
secret_file = "/a b=c"
cipher = "none"
"""


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_profiles_are_tables_of_a_toml_file(write):
    loaded = load_driver_settings(files=[write("d.toml", TOML)], environ={})

    assert loaded.settings.security_profiles == (ORDERS, TRADES)
    assert loaded.settings.max_resend == 5
    assert loaded.sources["security_profiles"] == "file d.toml"
    assert loaded.warnings == ()


def test_profiles_are_a_text_in_the_environment_and_in_properties(write):
    from_environment = load_driver_settings(environ={"AERON_SECURITY_PROFILES": TEXT})
    from_properties = load_driver_settings(
        files=[write("d.properties", f"aeron.security.profiles={TEXT}")], environ={}
    )

    assert from_environment.settings.security_profiles == (ORDERS, TRADES)
    assert from_properties.settings.security_profiles == (ORDERS, TRADES)


def test_profiles_are_a_mapping_in_python():
    options = {
        "secret_file": "/k",
        "accepted_secret_files": ["/a", "/b"],
        "allow_weak_freshness": True,
        "size": 7,
    }

    (profile,) = DriverSettings(security_profiles={"x": options}).security_profiles

    assert dict(profile.options) == {
        "secret_file": "/k",
        "accepted_secret_files": "/a:/b",
        "allow_weak_freshness": "true",
        "size": "7",
    }


def test_what_is_shown_is_what_can_be_written():
    settings = DriverSettings(security_profiles=TEXT)

    assert DriverSettings(security_profiles=settings.formatted("security_profiles")) == settings
    assert settings.security_profile("orders") == ORDERS
    assert settings.security_profile("nothing") is None


@pytest.mark.parametrize("given", ["{}", "{}:/b", "/a:{}"])
@pytest.mark.parametrize("name", ["secret_file", "accepted_secret_files", "secret"])
def test_a_secret_that_is_given_instead_of_a_path_is_not_shown(name, given):
    secret = "0123456789abcdEF" * 4
    settings = DriverSettings(security_profiles={"orders": {name: given.format(secret)}})

    assert secret not in repr(settings)
    assert secret not in settings.formatted("security_profiles")
    assert "<64 hexadecimal digits instead of the path of a file>" in settings.formatted("security_profiles")


@pytest.mark.parametrize("digits", [64, 63, 128])
@pytest.mark.parametrize(
    "value_of",
    [
        lambda secret: f"orders,{secret}",
        lambda secret: f"orders,secret_file={secret},cipher",
        lambda secret: f"a {secret},x=1",
        lambda secret: {"orders": secret},
        lambda secret: {"orders": {"secret_file": f"{secret},x"}},
        lambda secret: {"orders": {"secret_file": {"a": secret}}},
        lambda secret: [secret],
    ],
)
def test_a_secret_in_a_profile_that_cannot_be_parsed_is_not_shown(value_of, digits):
    secret = ("0123456789abcdef" * 8)[:digits]

    with pytest.raises(ConfigurationError) as caught:
        DriverSettings(security_profiles=value_of(secret))

    assert secret not in str(caught.value)
    assert "<64 hexadecimal digits instead of the path of a file>" in str(caught.value)
    with pytest.raises(ConfigurationError) as caught:
        load_driver_settings(environ={"AERON_SECURITY_PROFILES": f"orders,{secret}"})
    assert secret not in str(caught.value)


def test_a_path_may_contain_a_hash():
    path = f"/run/{'0a' * 32}/orders.key"

    (profile,) = DriverSettings(security_profiles={"orders": {"secret_file": path}}).security_profiles

    assert profile.options == (("secret_file", path),)


@pytest.mark.parametrize(
    "value",
    [
        "orders,secret_file",
        "orders,=x",
        "a,x=1|a,x=2",
        ",x=1",
        "a b,x=1",
        "a,x=",
        {"ü": {}},
        {"a": "x=1"},
        {"a": {"x": "1,2"}},
        {"a": {"x": "1|2"}},
        {"a": {"x": {"y": 1}}},
        {"a": {"x": [1]}},
        {"a": {"x": ""}},
        7,
        ("orders",),
    ],
)
def test_other_profiles_are_refused(value):
    with pytest.raises(ConfigurationError, match=r"must be profiles 'name,option=value\|…'"):
        DriverSettings(security_profiles=value)


def test_wrong_security_in_the_environment_stops_the_start():
    # A driver that fell back to the default would send in the clear.
    for name, text in (("AERON_SECURITY_PROFILES", "orders,x"), ("AERON_SECURITY_REQUIRED", "yes")):
        with pytest.raises(ConfigurationError, match=f"{name}={text}"):
            load_driver_settings(environ={name: text})


def test_the_profile_of_the_resolver_must_exist():
    with pytest.raises(
        ConfigurationError, match="resolver_security=x: must be one of security_profiles: orders"
    ):
        DriverSettings(security_profiles={"orders": {}}, resolver_security="x")


def test_security_that_is_required_is_required_of_the_resolver():
    with pytest.raises(
        ConfigurationError, match=r"security_required=true with resolver_interface=127\.0\.0\.1:0"
    ):
        DriverSettings(security_required=True, resolver_name="one", resolver_interface="127.0.0.1:0")
