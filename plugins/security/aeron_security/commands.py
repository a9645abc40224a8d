"""`aeron-core keys generate | show | check`; no command prints a secret."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aeron_core.cli.command import CoreCommand
from aeron_core.cli.options import Defines, Json, SettingsFiles, print_json
from aeron_core.cli.outcome import EXIT_FAILURE, ended
from aeron_core.cli.text_table import print_table
from aeron_core.errors import ConfigurationError
from aeron_core.settings.loader import load_driver_fields
from aeron_security.group_secret import NAME, GroupSecretOptions, check_machine
from aeron_security.key_files import check_ids, fingerprint_of, read_secret, write_secret

keys_app = typer.Typer(help="Keys of secured channels.", no_args_is_help=True)

KeyFiles = Annotated[list[Path], typer.Argument(metavar="FILE", help="Key files.")]


@keys_app.command(cls=CoreCommand)
def generate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="New file; only its owner can read it.")],
    json: Json = False,
) -> None:
    """Write a new random secret to a file, and print its fingerprint.

    Copy the file to the other hosts of the channel by a path that is encrypted, such as scp.
    """
    write_secret(file)
    _print_keys([file], is_json=json)


@keys_app.command(cls=CoreCommand)
def show(files: KeyFiles, json: Json = False) -> None:
    """Show the fingerprints of key files, by which two hosts compare their secrets.

    A file that others can read, or that has no key, is refused.
    """
    _print_keys(files, is_json=json)


def _print_keys(files: list[Path], *, is_json: bool) -> None:
    found = [(str(file), fingerprint_of(read_secret(file))) for file in files]
    if is_json:
        print_json([{"file": file, "fingerprint": fingerprint} for file, fingerprint in found])
    else:
        print_table(("file", "fingerprint"), found)


@keys_app.command(cls=CoreCommand)
def check(files: SettingsFiles = None, define: Defines = None, json: Json = False) -> None:
    """Check the security profiles of a driver: their options, key files, and what this machine needs.

    Takes the same files, -D and environment variables as `aeron-core driver`. The exit code is 1 if a channel with
    one of the profiles would be refused.
    """
    settings = load_driver_fields(files=files or [], defines=define or []).settings
    rows = []
    for profile in settings.security_profiles:
        if profile.protector == NAME:
            rows += _rows_of(profile.name, dict(profile.options))
        else:
            rows.append((profile.name, "", "", f"not checked: the protector is {profile.protector}"))
    header = ("profile", "file", "fingerprint", "problem")
    if json:
        print_json([dict(zip(header, row, strict=True)) for row in rows])
    else:
        print_table(header, rows)
    if any(problem and not problem.startswith("not checked") for *_, problem in rows):
        raise ended(EXIT_FAILURE)


def _rows_of(name: str, texts: dict[str, str]) -> list[tuple[str, str, str, str]]:
    """Return a row for each key file of a profile: its name, the file, the fingerprint and the problem."""
    try:
        options = GroupSecretOptions.parse(name, texts)
        check_machine(name, options)
    except ConfigurationError as error:
        return [(name, "", "", str(error))]
    rows, secrets = [], {}
    for file in options.secret_files:
        try:
            secrets[file] = read_secret(file)
            rows.append((name, file, fingerprint_of(secrets[file]), ""))
        except ConfigurationError as error:
            rows.append((name, file, "", str(error)))
    try:
        check_ids(list(secrets), list(secrets.values()))
    except ConfigurationError as error:
        rows.append((name, "", "", str(error)))
    return rows
