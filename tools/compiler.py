"""What a build needs of the machine: a C compiler, Python's headers, and a compression library."""

import functools
import os
import shlex
import subprocess
import sys
import sysconfig


def c_compiler() -> list[str]:
    """Return the command that starts the C compiler."""
    return shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")


def has_header(name: str, directory: str = "") -> bool:
    """Return whether the C compiler finds a header; exit with a message if there is no C compiler."""
    flags = shlex.split(os.environ.get("CPPFLAGS", "")) + shlex.split(os.environ.get("CFLAGS", ""))
    command = [*c_compiler(), *flags, "-E", "-x", "c", "-o", os.devnull, "-"]
    if directory:
        command.insert(-1, f"-I{directory}")
    try:
        done = subprocess.run(
            command, input=f"#include <{name}>\n", text=True, capture_output=True, check=False
        )
    except OSError as error:
        raise SystemExit(
            f"error: cannot run the C compiler {command[0]!r} ({error.strerror}): install gcc (on Debian, "
            "apt-get install gcc libc6-dev), or name another compiler in CC"
        ) from error
    return done.returncode == 0


def require_compiler() -> None:
    """Exit with a message unless C code that uses Python's headers can be compiled."""
    if not has_header("Python.h", sysconfig.get_path("include")):
        raise SystemExit(
            f"error: found no Python.h for {sys.executable}: install Python's headers (on Debian, "
            "apt-get install python3-dev)"
        )


@functools.cache
def compression_library() -> tuple[str, list[tuple[str, str]]]:
    """Return the library to link with and its macros: ISA-L, which is several times faster, else zlib.

    `AERON_CORE_COMPRESSION=zlib` in the environment selects zlib if both are installed.
    """
    asked = os.environ.get("AERON_CORE_COMPRESSION", "")
    if asked not in {"", "isal", "zlib"}:
        raise SystemExit(f"error: AERON_CORE_COMPRESSION={asked}: must be isal or zlib")
    if asked != "zlib" and has_header("isa-l/igzip_lib.h"):
        return "isal", [("AERON_HAS_ISAL", "1")]
    if asked != "isal" and has_header("zlib.h"):
        return "z", []
    raise SystemExit(
        "error: found no header of ISA-L or zlib: on Debian, apt-get install libisal-dev or zlib1g-dev"
    )
