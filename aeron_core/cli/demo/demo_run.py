"""One run of the demo: an embedded driver that drops datagrams, a publication, a subscription, two digests.

Not here: options and tables (demo). A message is a line including its line end, so that the bytes of all messages
are the bytes of the log. Invariant: every message that counts as received is part of the comparison.
"""

from __future__ import annotations

import hashlib
import itertools
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aeron_core._native import wire
from aeron_core.cli.connecting import connect_as
from aeron_core.cli.messages.latency import Latencies
from aeron_core.cli.text_table import counted
from aeron_core.client.aeron import Aeron
from aeron_core.concurrent.loss_report import read_loss_report
from aeron_core.driver.agents.counter_labels import SystemCounterLabels, labelled
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.errors import ClientError
from aeron_core.observation.driver_files import DriverFiles, open_loss_report

if TYPE_CHECKING:
    from pathlib import Path

    from aeron_core.cli.rate import RateDisplay
    from aeron_core.client.publications.publication import Publication
    from aeron_core.client.subscriptions.message_batch import MessageBatch
    from aeron_core.client.subscriptions.subscription import Subscription

_STREAM_ID: Final = 1001
_LINE_END: Final = ord("\n")
#: Lines to offer between two polls: one thread does both.
_BURST: Final = 64
_BATCH: Final = 4096
_CONNECT_TIMEOUT_S: Final = 10.0
# Short, so that the latency is that of the network and not of megabytes queued before it.
_TERM_LENGTH: Final = "256k"
_PAUSE_S: Final = 0.00005
_RETRIED: Final = (wire.RESULT_BACK_PRESSURED, wire.RESULT_NOT_CONNECTED, wire.RESULT_ADMIN_ACTION)
_MEGABYTE: Final = 1_000_000


@dataclass(slots=True)
class DemoResult:
    """Result of both ends, and counters of the driver."""

    channel: str = ""
    log_lines: int = 0
    repetitions: int = 0  # of the log
    lines_sent: int = 0
    lines_received: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    naks_sent: int = 0
    naks_received: int = 0
    status_messages_sent: int = 0
    status_messages_received: int = 0
    retransmits: int = 0
    retransmitted_bytes: int = 0
    loss_entries: int = 0
    loss_bytes: int = 0
    seconds: float = 0.0
    sent_sha256: str = ""
    received_sha256: str = ""
    fault: str = ""  # difference between both ends, empty if there is none
    latencies: Latencies = field(default_factory=Latencies)

    @property
    def lines_per_s(self) -> float:
        """Received lines per second."""
        return self.lines_received / max(self.seconds, 1e-9)

    @property
    def megabytes_per_s(self) -> float:
        """Received payload per second, in units of 10**6 bytes."""
        return self.bytes_received / _MEGABYTE / max(self.seconds, 1e-9)

    def document(self) -> dict[str, object]:
        """Return the result as a JSON document."""
        return {
            **{name: getattr(self, name) for name in self.__slots__ if name != "latencies"},
            "lines_per_second": round(self.lines_per_s, 1),
            "megabytes_per_second": round(self.megabytes_per_s, 3),
            "latency": self.latencies.document(),
        }


class DemoRun:
    """Sends a log repeatedly until enough lines are sent, and compares both ends. An instance can run only once."""

    def __init__(  # noqa: PLR0913 - the options of the command
        self, content: bytes, *, min_lines: int, loss: float, seed: int, port: int, timeout: float
    ) -> None:
        self._log_lines = _lines_of(content)
        self._times = -(-min_lines // len(self._log_lines))
        self._loss = loss
        self._seed = seed
        self._port = port
        self._timeout = timeout
        self._sent = hashlib.sha256()
        self._received = hashlib.sha256()
        self._result = DemoResult(log_lines=len(self._log_lines), repetitions=self._times)

    @property
    def lines(self) -> int:
        """Number of lines to send."""
        return len(self._log_lines) * self._times

    def run(self, display: RateDisplay) -> DemoResult:
        """Send, receive and compare; return the result, with an empty `fault` if both ends are equal.

        Raises AeronError if the driver does not start or a stream fails.
        """
        with (
            MediaDriver.launch_embedded(self._driver_settings()) as driver,
            connect_as("demo", driver.aeron_dir) as aeron,
        ):
            self._exchange(aeron, display)
            self._count(driver.aeron_dir)
        self._compare()
        return self._result

    def _driver_settings(self) -> dict[str, object]:
        return {
            "term_buffer_length": _TERM_LENGTH,
            "debug_receive_data_loss_rate": self._loss,
            "debug_receive_data_loss_seed": self._seed,
            "debug_receive_control_loss_rate": self._loss,
            "debug_receive_control_loss_seed": self._seed + 1,
        }

    def _exchange(self, aeron: Aeron, display: RateDisplay) -> None:
        with aeron.add_subscription(f"aeron:udp?endpoint=127.0.0.1:{self._port}", _STREAM_ID) as subscription:
            channel = subscription.resolved_channel()
            if channel is None:
                raise ClientError(
                    f"the driver has bound no port for {subscription.channel}: choose a port with --port"
                )
            self._result.channel = channel
            with closing(aeron.add_publication(channel, _STREAM_ID)) as publication:
                publication.await_connected(_CONNECT_TIMEOUT_S)
                subscription.await_connected(_CONNECT_TIMEOUT_S)
                display.start()
                self._send_and_receive(publication, subscription, display)
        self._result.seconds = display.seconds

    def _send_and_receive(
        self, publication: Publication, subscription: Subscription, display: RateDisplay
    ) -> None:
        lines = itertools.chain.from_iterable(itertools.repeat(self._log_lines, self._times))
        pending = next(lines, None)
        last_received_s = time.monotonic()
        while self._result.lines_received < self.lines:
            pending, offered = self._offer(publication, pending, lines)
            batch = subscription.poll_batch(_BATCH)
            if len(batch):
                self._take(batch, display)
                last_received_s = time.monotonic()
            elif time.monotonic() - last_received_s > self._timeout:
                return
            elif not offered:
                time.sleep(_PAUSE_S)

    def _offer(
        self, publication: Publication, pending: bytes | None, lines: Iterator[bytes]
    ) -> tuple[bytes | None, int]:
        """Offer up to a burst of lines; return the next line, None at the end, and the number of lines accepted."""
        for offered in range(_BURST):
            if pending is None:
                return None, offered
            # The reserved value of a message belongs to the application: here, the time of sending.
            position = publication.offer(pending, reserved_value=time.monotonic_ns())
            if position < 0:
                if position not in _RETRIED:
                    raise ClientError(
                        f"{publication!r} did not accept a line: {position!r}: run the demo again"
                    )
                return pending, offered
            self._sent.update(pending)
            self._result.lines_sent += 1
            self._result.bytes_sent += len(pending)
            pending = next(lines, None)
        return pending, _BURST

    def _take(self, batch: MessageBatch, display: RateDisplay) -> None:
        now_ns = time.monotonic_ns()
        # One line end per message, at its end: no line was split, and no two lines were joined.
        ends = batch.data[batch.offsets[1:] - 1]
        if not bool((ends == _LINE_END).all()) or int((batch.data == _LINE_END).sum()) != len(batch):
            self._result.fault = f"messages after line {self._result.lines_received} are not lines"
        self._received.update(batch.data.data)
        self._result.lines_received += len(batch)
        self._result.bytes_received += len(batch.data)
        for sent_ns in batch.reserved_values.tolist():
            self._result.latencies.add(now_ns - sent_ns)
        display.add(len(batch), len(batch.data))

    def _count(self, aeron_dir: Path) -> None:
        """Read the driver's counters and loss report from its directory, as a tool does."""
        files = DriverFiles.open(aeron_dir)
        ids = {name: index for index, (name, _) in enumerate(labelled(SystemCounterLabels()))}
        for name, counter in (
            ("naks_sent", "naks_sent"),
            ("naks_received", "naks_received"),
            ("status_messages_sent", "status_messages_sent"),
            ("status_messages_received", "status_messages_received"),
            ("retransmits", "retransmits_sent"),
            ("retransmitted_bytes", "retransmitted_bytes"),
        ):
            setattr(self._result, name, files.system_counter(ids[counter]))
        for entry in read_loss_report(open_loss_report(aeron_dir)):
            self._result.loss_entries += 1
            self._result.loss_bytes += entry.total_bytes_lost

    def _compare(self) -> None:
        result = self._result
        result.sent_sha256 = self._sent.hexdigest()
        result.received_sha256 = self._received.hexdigest()
        if result.lines_received != result.lines_sent or result.lines_sent != self.lines:
            sent = counted(result.lines_sent, "line")
            result.fault = (
                f"{result.lines_received:,} of {sent} arrived, of {self.lines:,} to send; raise --timeout"
            )
        elif not result.fault and result.sent_sha256 != result.received_sha256:
            result.fault = (
                f"the received lines differ from those sent: SHA-256 {result.received_sha256[:16]}…, not "
                f"{result.sent_sha256[:16]}…"
            )


def _lines_of(content: bytes) -> list[bytes]:
    """Return the lines with their line feeds; a carriage return does not end a line."""
    return [line + b"\n" for line in content.split(b"\n")[:-1]]
