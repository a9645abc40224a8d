"""Identities and lists of allowed peers, in files.

An identity is one line, `aeron-core-identity` and the private key; a list has a line for each peer, `NAME KEY` and
optionally `until=TIME`, and comments that begin with `#`. Keys are 64 hexadecimal digits.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from aeron_core.errors import ConfigurationError
from aeron_core.frozen import frozen
from aeron_security.key_files import read_file, write_secret

PREFIX: Final = "aeron-core-identity "
MAX_PEERS: Final = 1024
_READ_LENGTH: Final = 256
_SHOWN_LENGTH: Final = 8
_MAX_LIST_LENGTH: Final = 256 * 1024
_KEY: Final = re.compile(r"[0-9a-fA-F]{64}")
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


@frozen()
class AllowedPeer:
    """A peer that is allowed; `until_ms` is a time in ms since the epoch, None if the entry does not expire."""

    name: str
    public_key: bytes
    until_ms: int | None = None

    def line(self) -> str:
        """Return the line of the list."""
        until = ""
        if self.until_ms is not None:
            until = f" until={datetime.fromtimestamp(self.until_ms / 1000, UTC).isoformat()}"
        return f"{self.name} {self.public_key.hex()}{until}\n"


def write_identity(path: Path) -> None:
    """Write a new identity to a new file that only its owner can read. Raises ConfigurationError as `write_secret`."""
    # Any 32 bytes are a private key of X25519.
    write_secret(path, PREFIX)


def is_identity(path: str | Path) -> bool:
    """Return whether a key file has an identity, not a group secret. Raises ConfigurationError as `read_secret`."""
    return read_file(path, _READ_LENGTH).startswith(PREFIX.encode())


def read_identity(path: str | Path) -> bytes:
    """Return the private key in a file. Raises ConfigurationError as `read_secret`."""
    digits = read_file(path, _READ_LENGTH).removesuffix(b"\n").decode("latin-1")
    if digits.startswith(PREFIX) and _KEY.fullmatch(digits, len(PREFIX)):
        return bytes.fromhex(digits.removeprefix(PREFIX))
    # The content is not shown: it may be a secret.
    raise ConfigurationError(
        f"identity file {str(path)!r}: must have one line as written by `aeron-core keys generate --identity`, not a "
        f"group secret or a list of peers"
    )


def parse_key(text: str) -> bytes:
    """Return the public key that is written as text. Raises ConfigurationError."""
    if not _KEY.fullmatch(text):
        # Not all of it: it may be a private key with a digit too many.
        shown = text if len(text) <= _SHOWN_LENGTH else text[:_SHOWN_LENGTH] + "..."
        raise ConfigurationError(
            f"public key {shown!r}: must be 64 hexadecimal digits, as `aeron-core keys show` prints it"
        )
    return bytes.fromhex(text)


def parse_time_ms(text: str) -> int:
    """Return a time in ms since the epoch, in UTC unless it has a zone. Raises ConfigurationError."""
    try:
        time = datetime.fromisoformat(text)
        return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise ConfigurationError(
            f"until={text[:80]!r}: must be a date or a time such as 2030-01-31 or 2030-01-31T12:00:00Z"
        ) from None


def check_name(text: str) -> str:
    """Return the name of a peer. Raises ConfigurationError."""
    if not _NAME.fullmatch(text):
        raise ConfigurationError(
            f"name of a peer {text[:80]!r}: must be 1 to 64 letters, digits, '.', '-' and '_'"
        )
    if text == PREFIX.strip():
        raise ConfigurationError(
            f"name of a peer {text!r}: is that of an identity file, which has a private key: put the peer's public key "
            f"into the list, which `aeron-core keys show` prints"
        )
    return text


def parse_peers(text: str, path: str | Path) -> list[AllowedPeer]:
    """Return the peers of a list. Raises ConfigurationError with the number of a wrong line."""
    peers: list[AllowedPeer] = []
    names: set[object] = set()
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split("#", 1)[0].split()
        if not fields:
            continue
        try:
            peers.append(_parsed(fields))
        except ConfigurationError as error:
            raise ConfigurationError(f"list of peers {str(path)!r}, line {number}: {error}") from None
        if peers[-1].name in names or peers[-1].public_key in names:
            raise ConfigurationError(
                f"list of peers {str(path)!r}, line {number}: {peers[-1].name} or its key is there twice: remove one "
                f"line"
            )
        names |= {peers[-1].name, peers[-1].public_key}
    if len(peers) > MAX_PEERS:
        raise ConfigurationError(
            f"list of peers {str(path)!r}: has {len(peers)}: must be at most {MAX_PEERS}: divide the channel"
        )
    return peers


def _parsed(fields: list[str]) -> AllowedPeer:
    name, key, until = [*fields, "", ""][:3]
    if len(fields) > 3 or (until and not until.startswith("until=")):
        raise ConfigurationError(
            f"must be a name, a public key, and optionally until=TIME: has {fields[2:]!r}"
        )
    until_ms = parse_time_ms(until.removeprefix("until=")) if until else None
    return AllowedPeer(check_name(name), parse_key(key), until_ms)


def read_peers(path: str | Path) -> list[AllowedPeer]:
    """Return the peers in a list, in its order.

    Raises ConfigurationError if others can change the file, it cannot be read, or has a wrong line.
    """
    return parse_peers(read_list(path), path)


def read_list(path: str | Path) -> str:
    """Return the text of a list, with bytes that are not UTF-8 as surrogates. Raises ConfigurationError."""
    data = read_file(path, _MAX_LIST_LENGTH + 1, is_secret=False)
    if len(data) > _MAX_LIST_LENGTH:
        raise ConfigurationError(f"list of peers {str(path)!r}: is longer than {_MAX_LIST_LENGTH} bytes")
    return data.decode("utf-8", "surrogateescape")


def without_peer(text: str, name: str) -> str:
    """Return the text of a list without the line of a peer; other lines and comments stay."""
    lines = text.splitlines(keepends=True)
    kept = "".join(line for line in lines if line.split("#", 1)[0].split()[:1] != [name])
    return kept if not kept or kept.endswith("\n") else kept + "\n"


@contextlib.contextmanager
def changing(path: Path) -> Iterator[None]:
    """Wait until no other process changes a list in the same folder; a peer that it removes must not return."""
    import fcntl  # noqa: PLC0415 - drivers change no list

    try:
        folder = os.open(os.path.dirname(os.path.realpath(path)), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        # The list cannot be read or written either, which is reported then.
        yield
        return
    try:
        # Some network file systems cannot lock folders.
        with contextlib.suppress(OSError):
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _keep_access(path: Path, descriptor: int) -> None:
    """Give the new file the mode and the owner of the old one, which the driver of another user may read."""
    with contextlib.suppress(FileNotFoundError):
        status = os.stat(path)
        os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, status.st_uid, status.st_gid)


def write_peers(path: Path, peers: list[AllowedPeer]) -> None:
    """Replace a list by these peers. Raises ConfigurationError."""
    write_list(path, "".join(each.line() for each in peers))


def write_list(path: Path, text: str) -> None:
    """Replace a list as a whole: a driver that reads it sees the old one or the new one. Raises ConfigurationError."""
    import tempfile  # noqa: PLC0415 - slow to import, and drivers write no list

    # A symbolic link stays: a driver may read its target by another path.
    path = Path(os.path.realpath(path))
    try:
        descriptor, made = tempfile.mkstemp(prefix=path.name, dir=path.parent)
        try:
            with open(descriptor, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
                _keep_access(path, descriptor)
                file.write(text)
                file.flush()
                os.fsync(descriptor)
            os.replace(made, path)
        except BaseException:
            os.unlink(made)
            raise
    except OSError as error:
        raise ConfigurationError(
            f"list of peers {str(path)!r}: cannot be written: {error.strerror}: name a file in a folder that you may "
            f"write to"
        ) from None
