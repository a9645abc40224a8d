"""`aeron-core keys`."""

import json

import pytest

from aeron_core.cli.driver import plugins

#: Two secrets, as numbers, whose ids are 0x8e: the first byte of HKDF-Expand(PRK, "id", 1).
SAME_ID = (11, 24)


@pytest.fixture
def key(aeron, tmp_path):
    path = tmp_path / "orders.key"
    assert aeron("keys", "generate", str(path)).code == 0
    return path


def test_a_key_is_generated_and_its_fingerprint_shown(aeron, tmp_path):
    path = tmp_path / "orders.key"

    generated = json.loads(aeron("keys", "generate", str(path), "--json").out)
    shown = json.loads(aeron("keys", "show", str(path), "--json").out)

    assert generated == shown == [{"file": str(path), "fingerprint": shown[0]["fingerprint"]}]
    assert path.stat().st_mode & 0o777 == 0o600


def test_no_command_shows_a_secret(aeron, key):
    secret = key.read_text().strip()
    profile = f"-Daeron.security.profiles=orders,secret_file={key}"

    for arguments in (
        ("keys", "show", str(key)),
        ("keys", "check", profile),
        ("keys", "check", profile, "--json"),
        ("settings", "show", profile),
        ("settings", "show", profile, "--json"),
        ("doctor", profile),
    ):
        done = aeron(*arguments)
        assert secret not in done.out + done.err
        assert str(key) in done.out or arguments[0] == "doctor"


def test_a_key_that_others_can_read_is_an_error(aeron, key):
    key.chmod(0o644)

    done = aeron("keys", "show", str(key))

    assert done.code == 2
    assert "mode 0644 lets other users read or change it" in done.err


def test_an_existing_key_is_not_overwritten(aeron, key):
    done = aeron("keys", "generate", str(key))

    assert done.code == 2
    assert "exists: it is not overwritten" in done.err


def test_profiles_are_checked(aeron, key, tmp_path):
    settings = tmp_path / "driver.toml"
    settings.write_text(
        f'[security.orders]\nsecret_file = "{key}"\n'
        '[security.trades]\nsecret_file = "/nothing/trades.key"\n'
        '[security.wrong]\nkey = "x"\n'
        '[security.other]\nprotector = "signed"\n'
    )

    done = aeron("keys", "check", str(settings), "--json")

    found = {row["profile"]: row["problem"] for row in json.loads(done.out)}
    assert done.code == 1
    assert found["orders"] == ""
    assert "cannot be read" in found["trades"]
    assert "unknown option 'key'" in found["wrong"]
    assert found["other"] == "not checked: the protector is signed"


def test_good_profiles_are_a_success(aeron, key):
    assert aeron("keys", "check", f"-Daeron.security.profiles=orders,secret_file={key}").code == 0
    assert aeron("keys", "check").code == 0


def test_the_list_of_plugins_warns_of_a_missing_library(aeron, monkeypatch):
    assert aeron("plugins", "list").err == ""
    monkeypatch.setattr(plugins, "_is_installed", lambda library: False)

    done = aeron("plugins", "list")
    document = {row["name"]: row.get("lacks") for row in json.loads(aeron("plugins", "list", "--json").out)}

    text = "found no libcrypto.so.3: channels with security= are refused: install OpenSSL 3 (Debian: libssl3)"
    assert f"warning: plugin security: {text}" in done.err
    assert {name for name, lacks in document.items() if lacks} == {"security"}


def test_the_doctor_checks_profiles(aeron, key):
    def findings(profile):
        done = aeron("doctor", "--json", f"-Daeron.security.profiles={profile}")
        return {each["what"]: each for each in json.loads(done.out)}

    good = findings(f"orders,secret_file={key}")["security profile orders"]
    key.chmod(0o640)
    bad = findings(f"orders,secret_file={key}")["security profile orders"]

    assert good["health"] == "ok"
    assert bad["health"] == "problem"
    assert "mode 0640 lets other users read" in bad["found"]


def test_secrets_with_the_same_id_are_a_problem(aeron, tmp_path):
    files = [tmp_path / "one.key", tmp_path / "two.key"]
    for file, number in zip(files, SAME_ID, strict=True):
        file.write_text(number.to_bytes(32, "big").hex() + "\n", encoding="ascii")
        file.chmod(0o600)

    done = aeron(
        "keys",
        "check",
        f"-Daeron.security.profiles=orders,secret_file={files[0]},accepted_secret_files={files[1]}",
    )

    assert done.code == 1
    assert "have the same id: replace the newer one" in done.out
