"""A shipper driven step by step, with a publication that is confirmed by the tests."""

from __future__ import annotations

import json

import pytest

from aeron_core.logbuffer import results
from aeron_core.shipping.shipper import Shipper, ShipperParams

MS = 1_000_000
S = 1000 * MS


class Stream:
    """A publication with a limited window, and a peer that confirms on request."""

    channel = "aeron:lumberjack?endpoint=127.0.0.1:5044"

    def __init__(self):
        self.position = 0
        self.confirmed = 0
        self.window = 1 << 40
        self.is_closed = False
        self.max_message_length = 1 << 20
        self.messages = []

    def offer(self, message):
        length = len(message) + 32
        if self.position + length > self.confirmed + self.window:
            return results.BACK_PRESSURED
        self.messages.append(message)
        self.position += length
        return self.position

    def confirm(self, messages=None):
        """Confirm all messages, or the next `count` unconfirmed ones."""
        if messages is None:
            self.confirmed = self.position
        else:
            at = 0
            for message in self.messages:
                at += len(message) + 32
                if at > self.confirmed and messages > 0:
                    self.confirmed = at
                    messages -= 1


class Shipping:
    """Consecutive shippers, as in a process that is killed or restarted."""

    def __init__(self, folder):
        self.folder = folder
        self.now_ns = S
        self.stream = Stream()
        self.shipper = None
        self.errors = []

    def start(self, *patterns, **params):
        self.end()
        self.stream = Stream()
        params.setdefault("is_raw", True)
        self.shipper = Shipper(
            self.stream,
            lambda: self.stream.confirmed,
            ShipperParams(
                patterns=[str(self.folder / pattern) for pattern in patterns or ["app.log"]],
                state_folder=self.folder / "state",
                host="here",
                on_error=self.errors.append,
                epoch_ns=lambda: 1_700_000_000_000 * MS,
                **params,
            ),
        )

    def end(self):
        if self.shipper is not None:
            self.shipper.close()
            self.shipper = None

    def kill(self):
        """Stop without saving, as a killed process."""
        self.shipper._is_dirty = False
        self.end()

    def run(self, seconds=2.0, *, confirms=True):
        """Advance the time; return the new messages."""
        before = len(self.stream.messages)
        for _ in range(int(seconds * 20)):
            self.shipper.do_work(self.now_ns)
            if confirms:
                self.stream.confirm()
            self.now_ns += 50 * MS
        return self.stream.messages[before:]

    def path(self, name="app.log"):
        return self.folder / name

    def write(self, text, name="app.log"):
        with self.path(name).open("ab") as file:
            file.write(text.encode() if isinstance(text, str) else text)

    def saved(self):
        document = json.loads((self.folder / "state" / "registry.json").read_text())
        return {row["path"].rpartition("/")[2]: row["offset"] for row in document["files"]}


@pytest.fixture
def shipping(tmp_path):
    made = Shipping(tmp_path)
    yield made
    made.end()
