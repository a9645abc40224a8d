"""`aeron-core keys generate | show | allow | revoke | check`; no command prints a secret."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from aeron_core.cli.command import CoreCommand
from aeron_core.cli.groups import fault_of_name
from aeron_core.cli.options import Defines, Json, SettingsFiles, print_json
from aeron_core.cli.outcome import EXIT_FAILURE, ended, print_stderr
from aeron_core.cli.quantities import time_text
from aeron_core.cli.text_table import counted, print_table
from aeron_core.errors import ConfigurationError
from aeron_core.settings.loader import load_driver_fields
from aeron_security import group_secret, identities
from aeron_security.group_secret import GroupSecretOptions
from aeron_security.identities import IdentityOptions, check_package
from aeron_security.identity_files import (
    AllowedPeer,
    changing,
    check_name,
    is_identity,
    parse_key,
    parse_peers,
    parse_time_ms,
    read_identity,
    read_list,
    read_peers,
    without_peer,
    write_identity,
    write_list,
)
from aeron_security.key_files import check_ids, fingerprint_of, read_secret, write_secret
from aeron_security.options import check_machine

keys_app = typer.Typer(help="Keys of secured channels.", no_args_is_help=True)

KeyFiles = Annotated[list[Path], typer.Argument(metavar="FILE", help="Key files.")]
PeerList = Annotated[Path, typer.Argument(metavar="LIST", help="File with the allowed peers.")]
PeerName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the peer in the list.")]


@keys_app.command(cls=CoreCommand)
def generate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="New file; only its owner can read it.")],
    identity: Annotated[
        bool, typer.Option("--identity", help="Write an identity of this host, not a secret of a group.")
    ] = False,
    json: Json = False,
) -> None:
    """Write a new random secret, or an identity, to a file.

    Prints the fingerprint of the secret, or the public key of the identity. Copy a secret to the other hosts of the
    channel by a path that is encrypted, such as scp. An identity stays on its host: give its public key to the other
    hosts.
    """
    if identity:
        check_package("of this host")
        write_identity(file)
    else:
        write_secret(file)
    _print_keys([file], is_json=json)


@keys_app.command(cls=CoreCommand)
def show(files: KeyFiles, json: Json = False) -> None:
    """Show fingerprints of secrets, and public keys of identities.

    Two hosts compare their secrets by the fingerprints. A file that others can read, or that has no key, is refused.
    """
    _print_keys(files, is_json=json)


def _print_keys(files: list[Path], *, is_json: bool) -> None:
    found = [(str(file), *_shown(file)) for file in files]
    if is_json:
        print_json([{"file": file, kind: text} for file, kind, text in found])
    else:
        print_table(("file", "kind", "key"), found)


def _shown(file: str | Path) -> tuple[str, str]:
    """Return what is shown of a key file: `fingerprint` or `public-key`, and its text."""
    if not is_identity(file):
        return "fingerprint", fingerprint_of(read_secret(file))
    private_key = read_identity(file)
    check_package(str(file))
    from aeron_security.noise import public_key_of  # noqa: PLC0415 - needs the optional package cryptography

    return "public-key", public_key_of(private_key).hex()


@keys_app.command(cls=CoreCommand)
def allow(
    file: PeerList,
    name: PeerName,
    key: Annotated[
        str, typer.Argument(metavar="KEY", help="Public key, as `aeron-core keys show` prints it.")
    ],
    until: Annotated[
        str,
        typer.Option(metavar="TIME", help="When the entry expires, such as 2030-01-31; never by default."),
    ] = "",
    json: Json = False,
) -> None:
    """Add a peer to a list, or replace its key; print the list.

    A list that does not exist is made. A driver with the list reads it again within a second. A key that is replaced
    is revoked.
    """
    peer = AllowedPeer(check_name(name), parse_key(key), parse_time_ms(until) if until else None)
    if peer.until_ms is not None and peer.until_ms <= _now_ms():
        raise ConfigurationError(
            f"--until={until}: is over: must be in the future; to lock a peer out, revoke it"
        )
    with changing(file):
        text = read_list(file) if file.exists() else ""
        for each in parse_peers(text, file):
            if each.public_key == peer.public_key and each.name != peer.name:
                raise ConfigurationError(f"{file}: {each.name} has this key: revoke {each.name} first")
        text = without_peer(text, name) + peer.line()
        peers = parse_peers(text, file)
        write_list(file, text)
    _print_peers(peers, is_json=json)


@keys_app.command(cls=CoreCommand)
def revoke(file: PeerList, name: PeerName, json: Json = False) -> None:
    """Remove a peer from a list; print the list.

    A driver with the list locks the peer out of all streams, also of existing ones, within a second. Do it on each host
    that lists the peer.
    """
    with changing(file):
        text = read_list(file)
        peers = parse_peers(text, file)
        names = [each.name for each in peers]
        if name not in names:
            raise ConfigurationError(f"{file}: has no peer {name!r}: has {', '.join(names) or 'no peer'}")
        write_list(file, without_peer(text, name))
    _print_peers([each for each in peers if each.name != name], is_json=json)


def _print_peers(peers: list[AllowedPeer], *, is_json: bool) -> None:
    if is_json:
        print_json(
            [
                {"name": each.name, "public-key": each.public_key.hex(), "until": _until_of(each)}
                for each in peers
            ]
        )
    else:
        rows = [(each.name, each.public_key.hex(), _until_of(each) or "") for each in peers]
        print_table(("peer", "public key", "until"), rows)


def _until_of(peer: AllowedPeer) -> str | None:
    return time_text(None if peer.until_ms is None else peer.until_ms * 1_000_000)


@keys_app.command(cls=CoreCommand)
def check(files: SettingsFiles = None, define: Defines = None, json: Json = False) -> None:
    """Check the security profiles of a driver.

    Checks their options, key files, and what this machine needs. Takes the same files, -D and environment variables as
    `aeron-core driver`. The exit code is 1 if a channel with one of the profiles would be refused.
    """
    settings = load_driver_fields(files=files or [], defines=define or []).settings
    rows = []
    for profile in settings.security_profiles:
        rows_of = _ROWS_OF.get(profile.protector)
        if rows_of is None:
            rows.append((profile.name, "", "", _problem_of_other(profile.protector)))
            continue
        try:
            rows += [(profile.name, *row) for row in rows_of(profile.name, dict(profile.options))]
        except ConfigurationError as error:
            rows.append((profile.name, "", "", str(error)))
    header = ("profile", "file", "fingerprint", "problem")
    if json:
        print_json([dict(zip(header, row, strict=True)) for row in rows])
    elif not rows:
        print_stderr(
            "no security profile is set, so no channel is secured: set security_profiles of the driver"
        )
    else:
        print_table(header, rows)
    if any(problem and not problem.startswith("not checked") for *_, problem in rows):
        raise ended(EXIT_FAILURE)


def _problem_of_other(protector: str) -> str:
    """Return why a profile of another plugin is not checked, or that its protector is not installed."""
    fault = fault_of_name("aeron_datagram_protectors", protector)
    return fault or f"not checked: the protector is {protector}"


def _secret_rows(name: str, texts: dict[str, str]) -> list[tuple[str, str, str]]:
    """Return a row for each file of a profile: the file, what is shown of it, and the problem."""
    options = GroupSecretOptions.parse(name, texts)
    check_machine(name, options.common)
    rows, secrets = [], {}
    for file in options.secret_files:
        try:
            secrets[file] = read_secret(file)
            rows.append((file, fingerprint_of(secrets[file]), ""))
        except ConfigurationError as error:
            rows.append((file, "", str(error)))
    try:
        check_ids(list(secrets), list(secrets.values()))
    except ConfigurationError as error:
        rows.append(("", "", str(error)))
    return rows


def _identity_rows(name: str, texts: dict[str, str]) -> list[tuple[str, str, str]]:
    options = IdentityOptions.parse(name, texts)
    check_machine(name, options.common)
    check_package(name)
    rows = []
    for file, is_list in ((options.identity, False), (options.allow, True)):
        try:
            if not is_list:
                read_identity(file)
            rows.append((file, _counted_peers(file) if is_list else _shown(file)[1], ""))
        except ConfigurationError as error:
            rows.append((file, "", str(error)))
    return rows


def _counted_peers(file: str) -> str:
    peers = read_peers(file)
    expired = sum(each.until_ms is not None and each.until_ms <= _now_ms() for each in peers)
    return counted(len(peers), "peer") + (f", {expired} expired" if expired else "")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


_ROWS_OF = {group_secret.NAME: _secret_rows, identities.NAME: _identity_rows}
