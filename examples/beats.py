"""Events of Beats in a recording: an acknowledged event is on disk.

    python examples/beats.py                                             # a program that logs
    python examples/beats.py --listen 0.0.0.0:5044 --to /var/lib/events  # for Filebeat, until Ctrl-C

The driver listens as Logstash does, each event is a message, and its recorder writes them to disk before the
acknowledgement leaves. The writer is an ordinary Python program that logs to Logstash by python-logstash-async, with
the protocol of Beats (Lumberjack). For Filebeat: `output.logstash: hosts: ["this-host:5044"]`.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from logstash_async.constants import constants
from logstash_async.formatter import LogstashFormatter
from logstash_async.handler import AsynchronousLogstashHandler

import aeron_core
from aeron_core.recording import Archive
from aeron_core.recording.reading.messages import messages

ENDPOINT = "127.0.0.1:20139"
STREAM_ID = 1001
EVENTS = 2000


def run_shop(host: str, port: int) -> float:
    """Log the orders of a shop; return the seconds until all events are acknowledged."""
    # By default the handler makes a connection for every 50 events.
    vars(constants).update(QUEUED_EVENTS_BATCH_SIZE=EVENTS, QUEUED_EVENTS_BEATS_BATCH_SIZE=250)
    handler = AsynchronousLogstashHandler(
        host, port, database_path=None, transport="logstash_async.transport.BeatsTransport"
    )
    handler.setFormatter(LogstashFormatter(extra_prefix=""))
    logger = logging.getLogger("shop")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(handler)

    chance = random.Random(7)
    start_s = time.perf_counter()
    for number in range(EVENTS):
        amount = round(chance.lognormvariate(3, 1), 2)
        if chance.random() < 0.02:
            logger.error("order %d: payment failed", number, extra={"amount": amount})
        elif chance.random() < 0.1:
            logger.warning("order %d: out of stock", number, extra={"amount": amount})
        else:
            logger.info("order %d: paid", number, extra={"amount": amount})
    handler.close()  # returns when the last window is acknowledged
    logger.removeHandler(handler)
    return time.perf_counter() - start_s


def events_of(archive: Archive) -> Iterator[dict[str, Any]]:
    """Yield the events of all recordings: each connection of a writer is a stream of its own, and a recording."""
    for recording in archive.recordings():
        # Compares what it reads with the checksums.
        for message in messages(recording, recording.start_position, recording.position):
            yield json.loads(message.payload)


def level_of(event: dict[str, Any]) -> str:
    """Return the level of a logger or of a Beat, in the Elastic Common Schema."""
    return str(event.get("level") or event.get("log", {}).get("level") or "-")


def print_events(archive: Archive) -> None:
    recordings = archive.recordings()
    length = sum(recording.position - recording.start_position for recording in recordings)
    events = list(events_of(archive))
    print(
        f"recorded from {len(recordings):,} connection(s): {len(events):,} event(s), {length:,} bytes, verified\n"
    )
    if not events:
        return
    levels = Counter(map(level_of, events))
    for level, count in levels.most_common():
        print(f"{level:<8}{count:>7,} {'█' * -(-50 * count // len(events))}")
    print(f"\n{'time':<24}{'level':<8}{'amount':>9}  message")
    for event in events[-5:]:
        amount = f"{event['amount']:,.2f}" if "amount" in event else ""
        print(f"{event['@timestamp'][:23]:<24}{level_of(event):<8}{amount:>9}  {event.get('message', '')}")


def receive(endpoint: str, folder: Path, *, forever: bool) -> None:
    """Record events, of Beats until an interrupt or else of the shop, and print what was recorded."""
    streams = [f"aeron:lumberjack?endpoint={endpoint} {STREAM_ID}"]
    with aeron_core.MediaDriver.launch_embedded(
        sections={"recording": {"streams": streams, "to": str(folder)}}
    ):
        if forever:
            print(f"listening on {endpoint}; Ctrl-C prints what was recorded", flush=True)
            with suppress(KeyboardInterrupt):
                signal.pause()
        else:
            host, _, port = endpoint.rpartition(":")
            seconds = run_shop(host, int(port))
            print(f"{EVENTS:,} events logged and acknowledged in {seconds:.2f} s: they are on disk")
        # Read before the driver closes: what is recorded does not depend on a clean end.
        print_events(Archive.open(folder))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Events of Beats in a recording.")
    parser.add_argument("--listen", metavar="HOST:PORT", help="record events of Beats until Ctrl-C")
    parser.add_argument("--to", type=Path, help="folder for the recordings (default: a temporary one)")
    chosen = parser.parse_args(arguments)

    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.to or Path(temporary) / "recordings"
        try:
            receive(chosen.listen or ENDPOINT, folder, forever=chosen.listen is not None)
        except aeron_core.AeronError as error:
            raise SystemExit(str(error)) from None


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
