"""A plugin-based, embeddable Aeron media driver and client for Python."""

from pathlib import Path


def get_include() -> str:
    """Return the root to cimport from when a plugin is compiled: Cython's `include_path`.

    The C headers that its declarations include lie in `aeron_core/_native` below it.
    """
    return str(Path(__file__).parent.parent)
