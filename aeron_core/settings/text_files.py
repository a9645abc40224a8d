"""Files of text that a user names: settings and definitions. Not here: their syntax."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from aeron_core.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

#: Maximum length of a file in bytes. Invented: all settings with a comment each take less than 100 KiB.
MAX_LENGTH: Final = 1024 * 1024


def read_text_file(path: Path, name: str) -> str:
    """Return the content of a regular file of at most MAX_LENGTH bytes of UTF-8 text.

    Raises ConfigurationError for any other file, and for one that cannot be read; `name` begins its message.
    """
    try:
        # O_NONBLOCK: opening a named pipe would wait until a writer opens it.
        with open(path, "rb", opener=_open_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ConfigurationError(
                    f"{name}: must be a regular file of UTF-8 text, not a pipe or device: copy the text "
                    "into a file"
                )
            # Not up to the length that the file system reports: a file may grow, and those of /proc have none.
            data = file.read(MAX_LENGTH + 1)
        if len(data) > MAX_LENGTH:
            raise ConfigurationError(
                f"{name}: must have at most {MAX_LENGTH} bytes, has more: check that it is the right file"
            )
        return data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        # The text of an OSError repeats the path.
        cause = (isinstance(error, OSError) and error.strerror) or error
        raise ConfigurationError(f"{name}: must be a readable file of UTF-8 text: {cause}") from error


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)
