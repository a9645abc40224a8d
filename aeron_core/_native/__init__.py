"""Pointers, atomics and system calls: the part of the core that cannot run uncompiled."""

try:
    from aeron_core._native import wire as _wire  # noqa: F401
except ImportError as error:  # pragma: no cover - needs a tree that was never built
    raise ImportError(
        "aeron_core._native is not compiled here: an uncompiled checkout shadows the installed package "
        "(`python -m pytest` puts the current folder first); build in place with `python setup.py build_ext "
        f"--inplace`, or run `pytest` from the virtual environment ({error})"
    ) from error
