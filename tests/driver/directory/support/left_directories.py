"""Directories that drivers leave behind."""

import time

from aeron_core._native import wire
from aeron_core._native.clock import Clock
from aeron_core.concurrent.error_log import DistinctErrorLog
from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.protocol.cnc import CNC_FILE, CncFile, CncLayout

LAYOUT = CncLayout.of(
    to_driver_length=4096 + wire.RING_TRAILER_LENGTH,
    to_clients_length=4096 + wire.BROADCAST_TRAILER_LENGTH,
    counters_values_length=4096,
    error_log_length=4096,
    page_size=4096,
)
SMALL = {
    "counters_buffer_length": "1m",
    "loss_report_buffer_length": "64k",
    "perform_storage_checks": False,
    "driver_timeout_ms": 5000,
}


def leave_behind(directory, *, age_ms, errors=(), is_ready=True, pid=4242):
    """Create the directory of another process's driver with a heartbeat that is `age_ms` old."""
    for folder in ("publications", "images"):
        (directory / folder).mkdir(parents=True)
    (directory / "publications" / "7.logbuffer").write_bytes(bytes(4096))
    cnc = CncFile.create(
        directory / CNC_FILE, LAYOUT, client_liveness_timeout_ns=10**10, start_timestamp_ms=1, pid=pid
    )
    ManyToOneRingBuffer(cnc.to_driver).consumer_heartbeat_ms = int(time.time() * 1000) - age_ms
    log = DistinctErrorLog(cnc.error_log, Clock())
    for text in errors:
        log.record(1, text)
    if is_ready:
        cnc.publish()


def saved_errors(directory):
    return sorted(directory.parent.glob("aeron-*-error.log"))
