"""The C client of Aeron Archive, compiled from the sources that AERON_SOURCES names: no package contains it."""

from __future__ import annotations

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from peer_programs import download_jars, make_once

#: The program that encodes and decodes for the client, from Maven Central.
SBE = "uk.co.real-logic:sbe-all:1.38.1"
PROGRAM = Path(__file__).parents[1] / "archive" / "archive_client.c"
MAKE = Path(__file__).parents[3] / ".venv-archive-c"
_CLIENT = "aeron-client/src/main/c"
_ARCHIVE = "aeron-archive/src/main/c"
_SCHEMA = "aeron-archive/src/main/resources/archive/aeron-archive-codecs.xml"


def missing() -> list[str]:
    """Return what is needed but missing."""
    programs = [name for name in ("cc", "java", "mvn") if shutil.which(name) is None]
    return programs if os.environ.get("AERON_SOURCES") else [*programs, "AERON_SOURCES, a checkout of aeron"]


def client() -> Path:
    """Return the program, after compiling it if necessary."""
    sources = Path(os.environ["AERON_SOURCES"])

    def make() -> None:
        shutil.rmtree(MAKE, ignore_errors=True)
        objects = MAKE / "objects"
        objects.mkdir(parents=True)
        download_jars([SBE], MAKE)
        (jar,) = MAKE.glob("*.jar")
        subprocess.run(
            [
                *("java", "--add-opens", "java.base/jdk.internal.misc=ALL-UNNAMED"),
                *(f"-Dsbe.output.dir={MAKE / 'codecs' / 'c'}", "-Dsbe.target.language=C"),
                *("-Dsbe.target.namespace=aeron.archive.client", "-jar", jar, sources / _SCHEMA),
            ],
            check=True,
        )
        found = [
            path
            for folder in (_CLIENT, _ARCHIVE)
            for path in sorted((sources / folder).rglob("*.c"))
            if "windows" not in path.name
        ]
        compiler = [
            *("cc", "-O1", "-w", "-std=gnu11", "-D_GNU_SOURCE"),
            *('-DAERON_VERSION_TXT="0.0.0"', '-DAERON_VERSION_GITSHA="none"', "-DAERON_VERSION_MAJOR=0"),
            *("-DAERON_VERSION_MINOR=0", "-DAERON_VERSION_PATCH=0"),
            *(f"-I{sources / _CLIENT}", f"-I{sources / _ARCHIVE}", f"-I{sources / _ARCHIVE / 'client'}"),
            f"-I{MAKE / 'codecs'}",
        ]

        def compile_one(numbered: tuple[int, Path]) -> Path:
            number, path = numbered
            target = objects / f"{number}.o"
            subprocess.run([*compiler, "-c", path, "-o", target], check=True)
            return target

        with ThreadPoolExecutor(2) as threads:
            compiled = list(threads.map(compile_one, enumerate([*found, PROGRAM])))
        subprocess.run(
            ["cc", *compiled, "-o", MAKE / "client", "-lpthread", "-lm", "-ldl", "-lrt"], check=True
        )

    make_once(MAKE, f"{sources}\n{SBE}\n{PROGRAM.read_text(encoding='utf-8')}", make)
    return MAKE / "client"
