"""Figures of plots: the type of the file, the panels, and what all of them have in common.

matplotlib, which is optional and slow to import, is imported by functions only. Texts of peers, such as channels, are
drawn as they are, not as mathematical text.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from aeron_core.cli.outcome import print_stderr, printable
from aeron_core.errors import ConfigurationError

_ENDINGS: Final = (".png", ".svg")
_WIDTH: Final = 10.0  # inches
_PANEL_HEIGHT: Final = 2.8
_DPI: Final = 120
#: Characters of a label: a channel may have 4095.
_LABEL_LENGTH: Final = 70
_TITLE_LENGTH: Final = 110


def check_plot(option: str, path: Path) -> None:
    """Raise ConfigurationError, which names `option`, unless a plot can be drawn into a file of this name.

    Call it before work that a mistake would waste.
    """
    if path.suffix.lower() not in _ENDINGS:
        raise ConfigurationError(f"{option}={path}: must end with {' or '.join(_ENDINGS)}")
    try:
        import matplotlib  # noqa: F401, PLC0415 - optional
    except ImportError:
        raise ConfigurationError(
            f"{option}={path}: a plot needs matplotlib, which is not installed: pip install 'aeron-core[plots]'"
        ) from None


@contextmanager
def drawn(path: Path, title: str, panel_titles: Sequence[str]) -> Iterator[list[Any]]:
    """Yield the axes of panels, one below the other, and write the figure into a file at the end of the context.

    Raises OSError if the file cannot be written.
    """
    from matplotlib import rc_context  # noqa: PLC0415 - optional, slow to import
    from matplotlib.figure import Figure  # noqa: PLC0415 - optional, slow to import

    # Text in an SVG file stays text, which can be searched.
    with rc_context({"text.parse_math": False, "svg.fonttype": "none"}), warnings.catch_warnings():
        # Fonts lack some letters: a box is drawn instead.
        warnings.simplefilter("ignore", UserWarning)
        count = len(panel_titles)
        figure = Figure(figsize=(_WIDTH, _PANEL_HEIGHT * count + 0.8), layout="constrained")
        figure.suptitle(printable(title, kept="")[-_TITLE_LENGTH:], x=0.02, ha="left")
        panels = list(figure.subplots(count, 1, squeeze=False)[:, 0])
        for axes, panel_title in zip(panels, panel_titles, strict=True):
            axes.set_title(panel_title, loc="left", fontsize="medium")
            axes.grid(alpha=0.3)
        yield panels
        for axes in panels:
            if axes.get_legend_handles_labels()[1]:
                axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="x-small")
        figure.savefig(path, dpi=_DPI)
    print_stderr(f"drew {path}")


def label_text(text: str) -> str:
    """Return a text as a figure may show it: printable, and without its middle if it is long."""
    text = printable(text, kept="")
    if len(text) > _LABEL_LENGTH:
        half = _LABEL_LENGTH // 2 - 2
        text = f"{text[:half]}...{text[-half:]}"
    # A legend leaves out labels that begin with an underscore.
    return f" {text}" if text.startswith("_") else text


def show_units(axis: Any, unit: str) -> None:
    """Let the numbers of an axis have decimal prefixes and a unit, such as 3.2 MB."""
    from matplotlib.ticker import EngFormatter  # noqa: PLC0415 - optional, slow to import

    axis.set_major_formatter(EngFormatter(unit=unit))


def show_durations(axis: Any) -> None:
    """Let an axis of seconds, which is logarithmic, have numbers such as 20 µs."""
    from matplotlib.ticker import LogLocator, NullFormatter  # noqa: PLC0415 - optional, slow to import

    show_units(axis, "s")
    # Also within a power of ten there are two numbers at least.
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    # The default is mathematical text, which is not drawn as such.
    axis.set_minor_formatter(NullFormatter())
