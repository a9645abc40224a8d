"""`aeron-core keys`."""

import importlib.util
import json
import threading

import pytest
from aeron_security.commands import revoke
from aeron_security.identity_files import changing, read_list, read_peers, write_list

from aeron_core.cli.driver import plugins
from aeron_core.registry import Registry

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
    assert found["other"].startswith("no datagram protector 'signed'; installed: group-secret, identities")


def test_a_missing_protector_is_a_problem_and_one_of_another_plugin_is_not(aeron, monkeypatch):
    profile = "-Daeron.security.profiles=orders,protector=signed"

    missing = aeron("keys", "check", profile)
    monkeypatch.setattr(Registry, "check", lambda self, hook, text: None)
    installed = aeron("keys", "check", profile)

    assert (missing.code, installed.code) == (1, 0)
    assert "not checked: the protector is signed" in installed.out


def test_good_profiles_are_a_success(aeron, key):
    assert aeron("keys", "check", f"-Daeron.security.profiles=orders,secret_file={key}").code == 0


def test_without_profiles_a_check_reports_that_no_channel_is_secured(aeron):
    done = aeron("keys", "check")

    assert (done.code, done.out) == (0, "")
    assert "no security profile is set, so no channel is secured: set security_profiles" in done.err
    assert aeron("keys", "check", "--json").out == "[]\n"


def test_the_list_of_plugins_warns_of_a_missing_library(aeron, monkeypatch):
    assert aeron("plugins", "list").err == ""
    monkeypatch.setattr(plugins, "_is_installed", lambda library: False)

    done = aeron("plugins", "list")
    document = {row["name"]: row.get("lacks") for row in json.loads(aeron("plugins", "list", "--json").out)}

    text = "found no libcrypto.so.3: channels with security= are refused: install OpenSSL 3 (Debian: libssl3)"
    assert f"note: plugin security: {text}" in done.err
    assert {name for name, lacks in document.items() if lacks} == {"security"}


def test_the_list_of_plugins_warns_of_a_missing_package(aeron, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "cryptography" else found(name)
    )

    done = aeron("plugins", "list")

    assert "note: plugin security: found no package cryptography: " in done.err
    assert "protector=identities are refused: pip install 'aeron-core[secure]'" in done.err


@pytest.fixture
def identity(aeron, tmp_path):
    path = tmp_path / "one.identity"
    assert aeron("keys", "generate", "--identity", str(path)).code == 0
    return path


def public_key(aeron, path):
    (row,) = json.loads(aeron("keys", "show", "--json", str(path)).out)
    assert row.keys() == {"file", "public-key"}
    return row["public-key"]


def test_peers_are_allowed_and_revoked_by_name(aeron, identity, tmp_path):
    peers, key = tmp_path / "peers", public_key(aeron, identity)
    other = "11" * 32

    assert aeron("keys", "allow", str(peers), "one", key).code == 0
    assert aeron("keys", "allow", str(peers), "two", other, "--until", "2030-01-31").code == 0
    assert peers.read_text() == f"one {key}\ntwo {other} until=2030-01-31T00:00:00+00:00\n"
    # A name has one key.
    assert aeron("keys", "allow", str(peers), "two", "22" * 32).code == 0
    assert peers.read_text() == f"one {key}\ntwo {'22' * 32}\n"

    assert aeron("keys", "revoke", str(peers), "one").code == 0
    assert peers.read_text() == f"two {'22' * 32}\n"


def test_a_changed_list_is_printed(aeron, tmp_path):
    peers, until = tmp_path / "peers", ("--until", "2030-01-31")
    aeron("keys", "allow", str(peers), "one", "11" * 32)

    allowed = aeron("keys", "allow", str(peers), "two", "22" * 32, *until)
    revoked = aeron("keys", "revoke", str(peers), "one", "--json")

    assert [line.split() for line in allowed.out.splitlines()] == [
        ["peer", "public", "key", "until"],
        ["one", "11" * 32],
        ["two", "22" * 32, "2030-01-31T00:00:00Z"],
    ]
    assert json.loads(revoked.out) == [
        {"name": "two", "public-key": "22" * 32, "until": "2030-01-31T00:00:00Z"}
    ]


def test_comments_and_lines_of_other_peers_stay_when_a_list_is_changed(aeron, tmp_path):
    peers, folder = tmp_path / "peers", tmp_path / "links"
    head = f"# Höhe 2 \xff\n\none {'11' * 32}  # in the cellar\n".encode("latin-1")
    peers.write_bytes(head + f"# the second\ntwo {'22' * 32}".encode("ascii"))
    folder.mkdir()
    (folder / "peers").symlink_to(peers)

    assert aeron("keys", "allow", str(folder / "peers"), "three", "33" * 32).code == 0
    assert aeron("keys", "revoke", str(folder / "peers"), "two").code == 0

    assert peers.read_bytes() == head + f"# the second\nthree {'33' * 32}\n".encode("ascii")
    assert (folder / "peers").is_symlink()


def test_two_commands_at_the_same_time_change_a_list_one_after_the_other(tmp_path):
    peers = tmp_path / "peers"
    write_list(peers, f"one {'11' * 32}\ntwo {'22' * 32}\n")

    with changing(peers):
        text = read_list(peers)
        other = threading.Thread(target=revoke, args=(peers, "one"))
        other.start()
        # Without a lock, it ends in this time, and "one" returns.
        other.join(0.2)
        write_list(peers, f"{text}three {'33' * 32}\n")
    other.join()

    assert [each.name for each in read_peers(peers)] == ["two", "three"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("allow", "LIST", "one", "12"), "public key '12': must be 64 hexadecimal digits"),
        (("allow", "LIST", "a b", "11" * 32), "name of a peer 'a b': must be 1 to 64 letters"),
        (("allow", "LIST", "one", "11" * 32, "--until", "soon"), "until='soon': must be a date"),
        (("allow", "LIST", "one", "11" * 32, "--until", "2020-01-01"), "must be in the future"),
        (("allow", "LIST", "other", "22" * 32), "two has this key: revoke two first"),
        (("revoke", "LIST", "three"), "has no peer 'three': has two"),
        (
            ("revoke", "/nothing/list", "two"),
            "list of peers '/nothing/list': cannot be read: No such file or directory: `aeron-core keys allow` makes",
        ),
        (("allow", "/nothing/list", "two", "22" * 32), "cannot be written: No such file"),
    ],
)
def test_wrong_peers_are_refused(aeron, tmp_path, arguments, text):
    peers = tmp_path / "peers"
    aeron("keys", "allow", str(peers), "two", "22" * 32)

    done = aeron("keys", *(str(peers) if each == "LIST" else each for each in arguments))

    assert done.code == 2
    assert text in done.err


def test_no_command_shows_the_private_key_of_an_identity(aeron, identity, tmp_path):
    secret = identity.read_text().split()[1]
    peers = tmp_path / "peers"
    aeron("keys", "allow", str(peers), "two", "22" * 32)
    profile = f"-Daeron.security.profiles=orders,protector=identities,identity={identity},allow={peers}"

    for arguments in (
        ("keys", "show", str(identity)),
        ("keys", "check", profile),
        ("settings", "show", profile),
        ("doctor", profile),
    ):
        done = aeron(*arguments)
        assert secret not in done.out + done.err
    (first, second) = json.loads(aeron("keys", "check", profile, "--json").out)
    assert first["fingerprint"] == public_key(aeron, identity)
    assert second == {"profile": "orders", "file": str(peers), "fingerprint": "1 peer", "problem": ""}

    (found,) = (
        each for each in json.loads(aeron("doctor", "--json", profile).out) if "orders" in each["what"]
    )
    assert (found["found"], found["health"]) == ("identities, usable", "ok")

    identity.chmod(0o644)
    peers.chmod(0o666)
    done = aeron("keys", "check", profile)
    assert done.code == 1
    assert "mode 0644 lets other users read or change it" in done.out
    assert "mode 0666 lets other users change it" in done.out


def test_files_that_are_mixed_up_and_expired_peers_are_reported(aeron, key, identity, tmp_path):
    peers = tmp_path / "peers"
    peers.write_text(f"two {'22' * 32} until=2020-01-01\nthree {'33' * 32}\n")
    profile = f"-Daeron.security.profiles=orders,protector=identities,identity={key},allow={peers}"

    done = aeron("keys", "check", profile, "--json")

    first, second = json.loads(done.out)
    assert done.code == 1
    assert "must have one line as written by `aeron-core keys generate --identity`" in first["problem"]
    assert second["fingerprint"] == "2 peers, 1 expired"
    swapped = f"-Daeron.security.profiles=orders,secret_file={identity}"
    assert "must have 64 hexadecimal digits" in aeron("keys", "check", swapped).out


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
