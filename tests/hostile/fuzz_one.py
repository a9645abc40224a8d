"""Fuzz one target with atheris: `fuzz_one.py TARGET [ARGUMENT OF LIBFUZZER]...`; see fuzz.py."""

from __future__ import annotations

import shlex
import sys

import atheris

#: Python modules that report their branches; compiled ones do if they were built for it.
INSTRUMENTED = ["aeron_core", "aeron_media", "aeron_resolvers", "aeron_security", "pyspark_aeron", "wsproto"]


def main() -> None:
    """Run the fuzzer until it ends."""
    with atheris.instrument_imports(include=INSTRUMENTED):
        from targets import load  # noqa: PLC0415 - instrumented as it is imported

        target = load(sys.argv[1])
        # Imports what the target imports late: a fuzzer knows the modules of its start only.
        for seed in target.seeds():
            target.check(seed)

    def check(data: bytes) -> None:
        target.check(data)

    # To merge inputs, libFuzzer starts this command in a shell, with further arguments.
    command = shlex.join([sys.executable, *sys.argv[:2]])
    atheris.Setup([command, *sys.argv[2:]], check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
