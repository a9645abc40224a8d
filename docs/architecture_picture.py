"""Draw docs/explanation/architecture.svg: processes, threads, shared files and sockets.

Plain SVG without markers or CSS, so that every renderer shows the same picture.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 1200, 630
FONT = 'font-family="DejaVu Sans, Verdana, sans-serif"'
PROCESS, THREAD, COMPILED, FILE, WIRE = "#eef2f7", "#ffffff", "#dff0d8", "#fff3cd", "#e2e3e5"
BLUE = "#1f4e79"


class Box(NamedTuple):
    """A rectangle; the first line of its text is bold."""

    x: int
    y: int
    width: int
    height: int
    fill: str
    text: str

    def svg(self) -> Iterator[str]:
        """Yield the elements of the box."""
        yield (
            f'<rect x="{self.x}" y="{self.y}" width="{self.width}" height="{self.height}" rx="6" '
            f'fill="{self.fill}" stroke="#444" stroke-width="1.2"/>'
        )
        for number, line in enumerate(self.text.split("|")):
            style = 'font-size="12"' if number else 'font-size="13" font-weight="bold"'
            yield f'<text x="{self.x + 10}" y="{self.y + 20 + 17 * number}" {style} {FONT}>{escape(line)}</text>'


class Arrow(NamedTuple):
    """A line with a head at its end, or at both ends, and a label that is moved from its middle."""

    x1: int
    y1: int
    x2: int
    y2: int
    label: str = ""
    dx: int = 0
    dy: int = -6
    both: bool = False

    def svg(self) -> Iterator[str]:
        """Yield the elements of the arrow."""
        yield (
            f'<line x1="{self.x1}" y1="{self.y1}" x2="{self.x2}" y2="{self.y2}" stroke="{BLUE}" stroke-width="1.8"/>'
        )
        angle = math.atan2(self.y2 - self.y1, self.x2 - self.x1)
        yield self._head(self.x2, self.y2, angle)
        if self.both:
            yield self._head(self.x1, self.y1, angle + math.pi)
        if self.label:
            yield (
                f'<text x="{(self.x1 + self.x2) // 2 + self.dx}" y="{(self.y1 + self.y2) // 2 + self.dy}" '
                f'font-size="11" text-anchor="middle" fill="{BLUE}" {FONT}>{escape(self.label)}</text>'
            )

    def _head(self, x: int, y: int, angle: float) -> str:
        corners = " ".join(
            f"{x - 10 * math.cos(angle + side):.1f},{y - 10 * math.sin(angle + side):.1f}"
            for side in (0.4, -0.4)
        )
        return f'<polygon points="{x},{y} {corners}" fill="{BLUE}"/>'


BOXES = (
    Box(15, 20, 250, 540, PROCESS, "Application process|(one or many)"),
    Box(395, 20, 230, 540, PROCESS, "Driver directory|/dev/shm/aeron-<user>"),
    Box(745, 20, 275, 540, PROCESS, "Media driver|(own process or embedded)"),
    Box(1090, 240, 95, 280, WIRE, "sockets|UDP,|TCP, TLS,|Unix,|WebSocket"),
    Box(
        30,
        80,
        220,
        105,
        THREAD,
        "client conductor|thread, holds the GIL|commands, keepalive,|image and counter events",
    ),
    Box(30, 250, 220, 85, COMPILED, "Publication|offer, try_claim, offer_batch|on the caller's thread"),
    Box(30, 425, 220, 85, COMPILED, "Subscription, Image|poll, poll_batch|on the caller's thread"),
    Box(
        *(410, 80, 200, 125, FILE),
        "cnc.dat|command ring (to driver)|broadcast (to clients)|counters: positions, limits|distinct error log",
    ),
    Box(410, 250, 200, 85, FILE, "publications/*.logbuffer|three terms and metadata|per publication"),
    Box(410, 425, 200, 85, FILE, "images/*.logbuffer|three terms and metadata|per received stream"),
    Box(
        *(760, 80, 245, 105, THREAD),
        "conductor|thread, holds the GIL|commands, resources, timers,|name resolution, gossip",
    ),
    Box(
        760,
        250,
        205,
        100,
        COMPILED,
        "sender|thread without the GIL|data, setup, heartbeats,|retransmits, limits",
    ),
    Box(760, 425, 245, 85, COMPILED, "receiver|thread without the GIL|images, loss, NAKs, status messages"),
)
ARROWS = (
    Arrow(250, 115, 410, 115, "ADD_PUBLICATION"),
    Arrow(410, 150, 250, 150, "ON_PUBLICATION_READY"),
    Arrow(610, 115, 760, 115, "commands"),
    Arrow(760, 150, 610, 150, "responses"),
    Arrow(250, 290, 410, 290, "append frames"),
    Arrow(610, 290, 760, 290, "read frames"),
    Arrow(965, 280, 1090, 280, "DATA", dx=30),
    Arrow(1090, 315, 965, 315, "SM, NAK", dx=30, dy=14),
    Arrow(1090, 450, 1005, 450, "DATA"),
    Arrow(1005, 485, 1090, 485, "SM, NAK", dy=14),
    Arrow(760, 467, 610, 467, "insert frames"),
    Arrow(410, 467, 250, 467, "poll frames"),
    Arrow(870, 185, 870, 250, "command rings", dx=-48, dy=4, both=True),
    Arrow(985, 185, 985, 425, both=True),
)
NOTES = (
    "Green: compiled, runs without the GIL. White: Python, holds the GIL. Yellow: memory-mapped files. "
    "Positions and limits in cnc.dat are read and written by all parties.",
    "Further driver threads: name lookups (aeron-resolver), one relay per TLS or WebSocket endpoint, event log "
    "writer, recorder.",
)


def picture() -> Iterator[str]:
    """Yield the lines of the SVG."""
    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">'
    yield f'<rect x="0" y="0" width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
    for part in (*BOXES, *ARROWS):
        yield from part.svg()
    for number, note in enumerate(NOTES):
        yield f'<text x="20" y="{590 + 22 * number}" font-size="12" {FONT}>{escape(note)}</text>'
    yield "</svg>"


def main() -> None:
    """Write the picture."""
    path = Path(__file__).parent / "explanation" / "architecture.svg"
    path.write_text("\n".join(picture()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
