"""Files with a secret: 64 hexadecimal digits in one line, readable by their owner only.

Not here: identities, and lists of peers (`identity_files`).

Invariant: no message contains any part of a secret.
"""

from __future__ import annotations

import hmac
import os
import shlex
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from aeron_core.errors import ConfigurationError

#: Length of a secret in bytes.
SECRET_LENGTH: Final = 32
# Longer than a file of ours, so that one that is too long is detected.
_READ_LENGTH: Final = 4 * SECRET_LENGTH


def read_secret(path: str | Path) -> bytes:
    """Return the secret in a file.

    Raises ConfigurationError if the file cannot be read, is no regular file, belongs to another user than this process
    or root, may be read or written by others, is in a folder that others can write, or has another content.
    """
    return _parsed(path, read_file(path, _READ_LENGTH))


def read_file(path: str | Path, length: int, *, is_secret: bool = True) -> bytes:
    """Return at most `length` bytes of a file that only its owner can write, and read if it is secret.

    Raises ConfigurationError as `read_secret`, but for the content.
    """
    try:
        # O_NONBLOCK: opening a named pipe would wait until a writer opens it.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        cause = (isinstance(error, OSError) and error.strerror) or error
        remedy = (
            "copy the secret of the group to it, or make it with `aeron-core keys generate`, for an identity with "
            "--identity"
            if is_secret
            else "`aeron-core keys allow` makes one"
        )
        raise ConfigurationError(
            f"{_kind(is_secret)} {str(path)!r}: cannot be read: {cause}: {remedy}"
        ) from None
    try:
        # The descriptor is checked, not the path, which may lead to another file the next time.
        _check(path, os.fstat(descriptor), is_secret=is_secret)
        _check_folder(path, is_secret=is_secret)
        return os.read(descriptor, length)
    finally:
        os.close(descriptor)


def _kind(is_secret: bool) -> str:
    return "key file" if is_secret else "list of peers"


def _check(path: str | Path, status: os.stat_result, *, is_secret: bool) -> None:
    file = f"{_kind(is_secret)} {str(path)!r}"
    if not stat.S_ISREG(status.st_mode):
        raise ConfigurationError(f"{file}: must be a regular file, not a folder, pipe or device")
    if status.st_uid not in (0, os.geteuid()):
        raise ConfigurationError(
            f"{file}: belongs to user {status.st_uid}: must belong to the user of the driver, {os.geteuid()}, or to "
            f"root: chown it"
        )
    mode = stat.S_IMODE(status.st_mode)
    if not is_secret and mode & 0o022:
        raise ConfigurationError(
            f"{file}: mode {mode:04o} lets other users change it: must be 0644, or less: chmod it, and "
            f"check its peers"
        )
    if is_secret and mode & 0o077:
        raise ConfigurationError(
            f"{file}: mode {mode:04o} lets other users read or change it: must be 0600 or 0400: "
            f"chmod it, and replace the key in it if others may have read it"
        )


def _check_folder(path: str | Path, *, is_secret: bool) -> None:
    """Raise ConfigurationError if others can replace a file: they can in a folder that they can write.

    With the sticky bit, as /tmp has it, they cannot replace files of this user or root, and others were refused.
    """
    folder = os.path.dirname(os.path.realpath(path))
    mode = stat.S_IMODE(os.stat(folder).st_mode)
    if mode & 0o022 and not mode & stat.S_ISVTX:
        raise ConfigurationError(
            f"{_kind(is_secret)} {str(path)!r}: mode {mode:04o} of its folder lets other users replace it: must be "
            f"0755, or less: chmod go-w {shlex.quote(folder)}"
        )


def _parsed(path: str | Path, data: bytes) -> bytes:
    digits = data.removesuffix(b"\n")
    if len(digits) == 2 * SECRET_LENGTH and all(digit in b"0123456789abcdefABCDEF" for digit in digits):
        return bytes.fromhex(digits.decode("ascii"))
    # The content is not shown: it may be another secret.
    raise ConfigurationError(
        f"key file {str(path)!r}: must have {2 * SECRET_LENGTH} hexadecimal digits in one line, as written by "
        f"`aeron-core keys generate`: an identity and a list of peers are other files"
    )


def fingerprint_of(secret: bytes) -> str:
    """Return 16 hexadecimal digits by which two secrets are compared; they reveal nothing else."""
    return hmac.digest(secret, b"aeron-core fingerprint", "sha256")[:8].hex()


def check_ids(paths: Sequence[str], secrets: Sequence[bytes]) -> None:
    """Raise ConfigurationError if two different secrets have the same id, by which a receiver chooses one of them."""
    seen: dict[int, int] = {}
    for index, secret in enumerate(secrets):
        # Source: docs/wire/secure-udp.md, the first byte of HKDF-Expand(PRK, "id", 1).
        prk = hmac.digest(b"aeron-core secure udp 1", secret, "sha256")
        first = seen.setdefault(hmac.digest(prk, b"id\x01", "sha256")[0], index)
        if secrets[first] != secret:
            raise ConfigurationError(
                f"key files {paths[first]!r} and {paths[index]!r} have the same id: replace the newer one before "
                f"it is used: one of 256 secrets has the id of another"
            )


def write_secret(path: Path, prefix: str = "") -> None:
    """Write `prefix` and a new random secret to a new file that only its owner can read.

    Raises ConfigurationError if the file exists or cannot be written.
    """
    text = prefix + os.urandom(SECRET_LENGTH).hex() + "\n"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
    except FileExistsError:
        raise ConfigurationError(
            f"key file {str(path)!r} exists: it is not overwritten, because a secret that is lost cannot be restored: "
            f"name another file"
        ) from None
    except OSError as error:
        raise ConfigurationError(
            f"key file {str(path)!r}: cannot be written: {error.strerror}: "
            f"name a file in a folder that you may write to"
        ) from None
