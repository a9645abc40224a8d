"""A chat by multicast, in which each participant has a media driver.

    python examples/chat.py ann      # in as many terminals as you like
    python examples/chat.py --demo   # a conversation over two drivers

Lines of a terminal or a pipe are messages; `/names` lists the participants, Ctrl-D or `/quit` ends. For machines of a
network: `--interface 192.168.1.0/24`.
"""

from __future__ import annotations

import argparse
import json
import readline
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Self

import aeron_core

GROUP = "aeron:udp?endpoint=224.0.1.77:20138"
STREAM_ID = 1001
COLOURS, DIM = (31, 32, 33, 34, 35, 36), 2  # of ANSI escape sequences
PROMPT = "> "
PAUSE_S = 0.6
SCRIPT = [
    ("ann", "hello bob, is this thing on?"),
    ("bob", "loud and clear, over a driver of my own"),
    ("ann", "and no server in between"),
    ("bob", "so if I leave, the chat goes on"),
    ("ann", "bye, bob"),
]

Show = Callable[[str, str], None]


class Chat:
    """One participant: a media driver, a publication, a subscription, and the thread that polls it.

    `show` is called on that thread with a name and a text; the name is empty for what is not a message.
    """

    def __init__(self, name: str, interface: str, show: Show) -> None:
        self._name = name
        self._show = show
        self._names: dict[int, str] = {}  # by session id
        self._due: deque[str] = deque()  # events to send
        self._driver = aeron_core.MediaDriver.launch_embedded({"image_liveness_timeout_ns": "3s"})
        self._aeron = aeron_core.connect(self._driver.aeron_dir)
        channel = f"{GROUP}|interface={interface}"
        # With the default flow control, `max`, a participant that does not read cannot hold up the others.
        self._publication = self._aeron.add_exclusive_publication(channel, STREAM_ID)
        self._subscription = self._aeron.add_subscription(
            channel, STREAM_ID, on_unavailable_image=lambda image: self._remove(image.session_id)
        )
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._poll, name=f"chat of {name}", daemon=True)

    def __enter__(self) -> Self:
        # A stream is received from the position at which its image joins: without its own image, this participant
        # would not see its first lines.
        deadline_s = time.monotonic() + 10
        while self._subscription.image_by_session_id(self._publication.session_id) is None:
            if time.monotonic() > deadline_s:
                raise SystemExit(f"no multicast at {self._subscription.channel}: choose another --interface")
            time.sleep(0.01)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # Its own driver receives what it sends: when "left" has come back, it was sent, and the driver may be closed.
        with suppress(aeron_core.AeronError):
            self._send("left")
            self._is_over.wait(timeout=2)
        self._is_over.set()
        self._thread.join()
        self._aeron.close()
        self._driver.close()

    @property
    def names(self) -> list[str]:
        """The names of the participants that are here."""
        return sorted(self._names.values())

    def publish(self, text: str) -> None:
        """Publish a message to all participants, this one included."""
        self._send("message", text)

    def _send(self, event: str, text: str = "") -> None:
        self._publication.send(self._encoded(event, text), timeout=5)

    def _encoded(self, event: str, text: str = "") -> bytes:
        return json.dumps({"name": self._name, "event": event, "text": text}).encode()

    def _poll(self) -> None:
        # A message may be longer than a frame: then it arrives in fragments.
        assembler = aeron_core.FragmentAssembler(self._on_message)
        greeted = 0
        while not self._is_over.is_set():
            # Names are in messages only: ask for them when there is a new stream: its earlier messages may be missed.
            count = self._subscription.image_count
            if count > greeted:
                self._due.append("hello")
            greeted = count
            if self._due and self._publication.offer(self._encoded(self._due[0])) > 0:
                self._due.popleft()
            if self._subscription.poll(assembler) == 0:
                time.sleep(0.01)

    def _on_message(self, buffer: memoryview, header: aeron_core.Header) -> None:
        message = decoded(bytes(buffer))
        if message is None:
            return
        name, event, text = message
        if event == "left":
            if header.session_id == self._publication.session_id:
                self._is_over.set()
            else:
                self._remove(header.session_id)
            return
        if header.session_id not in self._names:
            self._names[header.session_id] = name
            self._show("", f"{name} joined")
        if event == "hello" and "here" not in self._due:
            self._due.append("here")
        elif event == "message":
            self._show(name, text)

    def _remove(self, session_id: int) -> None:
        """Remove a participant that has left, or that was killed: then its image has ended."""
        name = self._names.pop(session_id, None)
        if name is not None and not self._is_over.is_set():
            self._show("", f"{name} left")


def decoded(data: bytes) -> tuple[str, str, str] | None:
    """Return name, event and text; None if it is no message of a chat: any program can send to the group."""
    try:
        message = json.loads(data)
        name, event, text = message["name"], message["event"], message["text"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return (name, event, text) if all(isinstance(each, str) for each in (name, event, text)) else None


def is_interactive() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def styled(text: str, code: int) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if sys.stdout.isatty() else text


def printable(text: str) -> str:
    """Return a text of another participant without characters that would control the terminal."""
    return "".join(each if each.isprintable() else "?" for each in text)


def line_of(name: str, text: str) -> str:
    name, text = printable(name), printable(text)
    author = styled(f"{name or '*':>8}", COLOURS[sum(name.encode()) % len(COLOURS)] if name else DIM)
    time_of_day = styled(datetime.now().strftime("%H:%M:%S"), DIM)
    return f"{time_of_day} {author}  {text if name else styled(text, DIM)}"


def show(name: str, text: str) -> None:
    """Print a message above the line that is being typed, if there is one."""
    if is_interactive():
        print(f"\r\x1b[K{line_of(name, text)}\n{PROMPT}{readline.get_line_buffer()}", end="", flush=True)
    else:
        print(line_of(name, text), flush=True)


def talk(chat: Chat) -> None:
    """Publish lines of the terminal, or of a pipe, until they end."""
    with suppress(EOFError):
        while (line := input(PROMPT if is_interactive() else "").strip()) != "/quit":
            if is_interactive():
                # The line comes back as a message: remove it from where it was typed.
                print("\x1b[A\x1b[K", end="", flush=True)
            if line == "/names":
                print(line_of("", f"here are {', '.join(chat.names)}"), flush=True)
            elif line:
                chat.publish(line)


def demonstrate(interface: str) -> None:
    """Let two participants in this process converse, with pauses; show what the first one sees."""
    with Chat("ann", interface, show) as ann:
        with Chat("bob", interface, lambda name, text: None) as bob:
            while ann.names != ["ann", "bob"] or bob.names != ["ann", "bob"]:
                time.sleep(0.01)
            for name, text in SCRIPT:
                (ann if name == "ann" else bob).publish(text)
                time.sleep(PAUSE_S)
        while ann.names != ["ann"]:
            time.sleep(0.01)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="A chat by multicast.")
    parser.add_argument("name", nargs="?", default="me", help="your name in the chat")
    parser.add_argument("--interface", default="127.0.0.1", help="address or network of an interface")
    parser.add_argument("--demo", action="store_true", help="show a conversation of two participants")
    chosen = parser.parse_args(arguments)

    try:
        if chosen.demo:
            demonstrate(chosen.interface)
        else:
            with Chat(chosen.name, chosen.interface, show) as chat:
                talk(chat)
    except aeron_core.RegistrationError as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
