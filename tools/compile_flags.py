"""Flags of the C compiler for each module, and a record of those that it was compiled with."""

import os
from pathlib import Path

from setuptools import Extension

#: Flags with which each module was compiled: if they change, it is compiled again.
FLAGS_DIRECTORY = Path("build/flags")
# For `make sanitize`: what the compiler checks while the program runs, such as "address,undefined" or "thread".
SANITIZERS = os.environ.get("AERON_CORE_SANITIZE", "")
# Debug information takes a third of the compile time and most of the size: only if asked for.
DEBUG = bool(os.environ.get("AERON_CORE_DEBUG") or SANITIZERS)
# Lines are what a report of a sanitizer needs.
DEBUG_LEVEL = ["-g1" if SANITIZERS else "-g"]

#: Compiled for size, which makes them a quarter smaller: no loop over messages or datagrams is in them. They prepare
#: streams, connections and counters, run once per duty cycle or status message, wrap system calls, handle loss, errors
#: and the ends of connections, are base classes of plugins, or belong to the test kit. Of buffers, counters, positions
#: and frames, their callers inline what is hot; the modules themselves are for calls from Python.
SMALL = {
    "aeron_congestion.cubic",
    "aeron_congestion.static_window",
    "aeron_core._native.address",
    "aeron_core._native.atomic_long",
    "aeron_core._native.buffer",
    "aeron_core._native.clock",
    "aeron_core._native.commands",
    "aeron_core._native.connections",
    "aeron_core._native.counter",
    "aeron_core._native.frames",
    "aeron_core._native.mapped",
    "aeron_core._native.park",
    "aeron_core._native.peers",
    "aeron_core._native.positions",
    "aeron_core._native.readiness",
    "aeron_core._native.semaphore",
    "aeron_core._native.wire",
    "aeron_core._native.xorshift",
    "aeron_core.agent.agent",
    "aeron_core.agent.duty_cycle",
    "aeron_core.agent.idle_strategies",
    "aeron_core.agent.invoker",
    "aeron_core.agent.runner",
    "aeron_core.client.channel_peers",
    "aeron_core.client.publications.claim",
    "aeron_core.client.publications.exclusive_publication",
    "aeron_core.client.publications.publication",
    "aeron_core.client.publications.publication_state",
    "aeron_core.client.subscriptions.controlled_fragment_assembler",
    "aeron_core.client.subscriptions.fragment_assembler",
    "aeron_core.concurrent.loss_writer",
    "aeron_core.driver._native.networks",
    "aeron_core.driver._native.operations",
    "aeron_core.driver.agents.data_agent",
    "aeron_core.driver.agents.one_way_latency",
    "aeron_core.driver.agents.polled_endpoints",
    "aeron_core.driver.agents.rate_limit",
    "aeron_core.driver.agents.stream_activity",
    "aeron_core.driver.agents.system_counters",
    "aeron_core.driver.logged_datagrams",
    "aeron_core.driver.receiver.awaited_images",
    "aeron_core.driver.receiver.image_connections",
    "aeron_core.driver.receiver.image_measurements",
    "aeron_core.driver.receiver.loss_recovery",
    "aeron_core.driver.receiver.nak_delay",
    "aeron_core.driver.receiver.stream_interest",
    "aeron_core.driver.sender.acknowledged_publication",
    "aeron_core.driver.sender.control_frames",
    "aeron_core.driver.sender.ipc_publication",
    "aeron_core.driver.sender.live_receivers",
    "aeron_core.driver.sender.publication_events",
    "aeron_core.driver.sender.receiver_proofs",
    "aeron_core.driver.sender.retransmit_handler",
    "aeron_core.driver.sender.sending_publication",
    "aeron_core.logbuffer.descriptor",
    "aeron_core.logbuffer.gap_filler",
    "aeron_core.logbuffer.unblocker",
    "aeron_core.protocol.frames.data",
    "aeron_core.protocol.frames.error",
    "aeron_core.protocol.frames.header",
    "aeron_core.protocol.frames.nak",
    "aeron_core.protocol.frames.response_setup",
    "aeron_core.protocol.frames.rttm",
    "aeron_core.protocol.frames.setup",
    "aeron_core.protocol.frames.status_message",
    "aeron_core.recording.storage.check_sums",
    "aeron_core.spi.congestion_control",
    "aeron_core.spi.endpoints",
    "aeron_core.spi.flow_control",
    "aeron_core.spi.idle_strategy",
    "aeron_core.testing.connection_probe",
    "aeron_core.testing.parts",
    "aeron_core.testing.probes",
    "aeron_core.testing.recorders",
    "aeron_flow_control.max_flow_control",
    "aeron_flow_control.min_flow_control",
    "aeron_flow_control.receivers",
    "aeron_media._native.destination_table",
    "aeron_media._native.interfaces",
    "aeron_media._native.relays",
    "aeron_media._native.source_counts",
    "aeron_media.connections.feed_streams",
    "aeron_media.connections.log_message",
    "aeron_media.connections.remote_host",
    "aeron_media.fault_slot",
    "aeron_media.lumberjack._native.deflater",
    "aeron_media.lumberjack._native.inflater",
    "aeron_media.lumberjack._native.wire",
    "aeron_media.lumberjack.ack_queue",
    "aeron_media.lumberjack.codec.acks",
    "aeron_media.lumberjack.reader.ack_output",
    "aeron_media.lumberjack.reader.reader_counters",
    "aeron_media.lumberjack.reader.receive_endpoint",
    "aeron_media.lumberjack.writer.reconnect_backoff",
    "aeron_media.lumberjack.writer.send_endpoint",
    "aeron_media.lumberjack.writer.window_ledger",
    "aeron_media.lumberjack.writer.writer_connection",
    "aeron_media.lumberjack.writer.writer_counters",
    "aeron_media.sp._native.wire",
    "aeron_media.sp.dialer",
    "aeron_media.sp.pair_counters",
    "aeron_media.sp.pair_publication",
    "aeron_media.sp.pair_socket",
    "aeron_media.sp.peer",
    "aeron_media.sp.peer_connections",
    "aeron_media.sp.peer_slots",
    "aeron_media.sp.receive_endpoint",
    "aeron_media.sp.send_endpoint",
    "aeron_media.udp.destinations",
    "aeron_media.udp.incoming_loss",
    "aeron_media.udp.loss",
    "aeron_media.udp.lossy_sender",
    "aeron_media.udp.receiver_feedback",
    "aeron_media.udp.response_receivers",
    "aeron_resolvers.packets",
}

#: Packages that call Python for each message, where calls through stubs were measured to be 3 % faster. Elsewhere there
#: are no stubs: they are 4 % of a wheel, and Python resolves all symbols anyway when it loads a module.
CALLING = ("aeron_core.client.", "aeron_core.logbuffer.")


def sanitizer_arguments() -> list[str]:
    """Return the arguments of the C compiler for `SANITIZERS`: a finding is reported, and the program continues."""
    if not SANITIZERS:
        return []
    return [f"-fsanitize={SANITIZERS}", "-fsanitize-recover=all", "-fno-omit-frame-pointer"]


def compile_arguments(name: str) -> list[str]:
    """Return the arguments with which the C compiler compiles a module."""
    return [
        "-O1" if SANITIZERS else "-Os" if name in SMALL else "-O3",
        # Python's own flags ask for debug information. The tables are for debuggers and profilers, too, and are 6 %
        # of a wheel.
        *(DEBUG_LEVEL if DEBUG else ["-g0", "-fno-asynchronous-unwind-tables"]),
        "-std=gnu11",
        *([] if name.startswith(CALLING) and name not in SMALL else ["-fno-plt"]),
        "-fno-strict-aliasing",
        # Of Python's own flags, which a CFLAGS of the environment may replace. It hides overflows from a sanitizer.
        "-fno-wrapv" if SANITIZERS else "-fwrapv",
        "-DNDEBUG",
        # Warnings about generated code help no reader.
        "-w",
        *sanitizer_arguments(),
    ]


def link_arguments() -> list[str]:
    """Return the arguments with which the C compiler links each module."""
    # Without debug information there is none to find by an identifier, of which a wheel has one in each module.
    return sanitizer_arguments() if DEBUG else ["-Wl,--strip-all", "-Wl,--build-id=none"]


def record_flags(ext: Extension, stamp: Path) -> None:
    """Write the flags of a module into a file, which is newer than the module only if they have changed since."""
    flags = repr((ext.extra_compile_args, ext.extra_link_args, ext.define_macros, ext.libraries))
    is_first = not stamp.exists()
    if is_first or stamp.read_text() != flags:
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(flags)
    if is_first:
        # A module without a record counts as compiled with these.
        os.utime(stamp, (0, 0))
