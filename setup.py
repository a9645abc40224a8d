"""Build rule alone: compile every module that has a sibling `.pxd`; all metadata is in pyproject.toml."""

import functools
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path

from Cython.Compiler import Options
from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext
from setuptools.command.editable_wheel import editable_wheel
from setuptools.command.sdist import sdist

# A build in isolation does not look for modules in the folder of this file.
sys.path.insert(0, str(Path(__file__).parent / "tools"))
from translation import translate

ROOTS = [
    ".",
    "plugins/flow_control",
    "plugins/congestion",
    "plugins/resolvers",
    "plugins/media",
    "plugins/security",
]
# The source roots, also those without compiled modules.
SOURCE_ROOTS = [*ROOTS, "plugins/spark"]
PACKAGES = [
    "aeron_core",
    "aeron_flow_control",
    "aeron_congestion",
    "aeron_resolvers",
    "aeron_media",
    "aeron_security",
]
DIRECTIVES = {
    "language_level": 3,
    # Python annotations describe the Python face; C types live in the .pxd alone.
    "annotation_typing": False,
    # Locals of compiled modules take the C type of what is assigned to them.
    "infer_types": True,
    # Positions and ids wrap as in C; division by a variable is never done on a hot path.
    "cdivision": True,
    # No object of a driver or client survives its process: pickling would add two methods to each class.
    "auto_pickle": False,
    # Methods are built-in ones: Cython's own function objects triple the work of the C compiler and slow each call.
    "binding": False,
    # The signatures that `help` and `inspect.signature` show, because built-in methods have no code object.
    "embedsignature": True,
    "embedsignature.format": "clinic",
}
# For a coverage build (`make coverage`): packages whose modules report each line that they execute.
TRACED = tuple(os.environ.get("AERON_CORE_LINE_TRACE", "").split())
# Cython repeats each source line above its C code: a third of what the C compiler reads. Coverage needs it. An option
# until Cython 3.2, then a directive.
Options.emit_code_comments = bool(TRACED)
if "emit_code_comments" in Options.get_directive_defaults():
    DIRECTIVES["emit_code_comments"] = bool(TRACED)
# The only modules that inflate and deflate; they are linked with a compression library.
COMPRESSING = {
    "aeron_media.lumberjack._native.inflater",
    "aeron_media.lumberjack._native.deflater",
}
# Generated C files; the source tree holds sources and extension modules only. Coverage looks beside the sources.
C_DIRECTORY = None if TRACED else "build/cython"
#: Flags with which each module was compiled: if setup.py changes them, it is compiled again.
FLAGS_DIRECTORY = Path("build/flags")
CORES = os.cpu_count() or 1
# For `make sanitize`: what the compiler checks while the program runs, such as "address,undefined" or "thread".
SANITIZERS = os.environ.get("AERON_CORE_SANITIZE", "")
# Debug information takes a third of the compile time and most of the size: only if asked for.
DEBUG = bool(os.environ.get("AERON_CORE_DEBUG") or SANITIZERS)
# Lines are what a report of a sanitizer needs.
DEBUG_LEVEL = ["-g1" if SANITIZERS else "-g"]


def c_compiler() -> list[str]:
    """Return the command that starts the C compiler."""
    return shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")


def has_header(name: str, directory: str = "") -> bool:
    """Return whether the C compiler finds a header; exit with a message if there is no C compiler."""
    flags = shlex.split(os.environ.get("CPPFLAGS", "")) + shlex.split(os.environ.get("CFLAGS", ""))
    command = [*c_compiler(), *flags, "-E", "-x", "c", "-o", os.devnull, "-"]
    if directory:
        command.insert(-1, f"-I{directory}")
    try:
        done = subprocess.run(
            command, input=f"#include <{name}>\n", text=True, capture_output=True, check=False
        )
    except OSError as error:
        raise SystemExit(
            f"error: cannot run the C compiler {command[0]!r} ({error.strerror}): install gcc (on Debian, "
            "apt-get install gcc libc6-dev), or name another compiler in CC"
        ) from error
    return done.returncode == 0


def require_compiler() -> None:
    """Exit with a message unless C code that uses Python's headers can be compiled."""
    if not has_header("Python.h", sysconfig.get_path("include")):
        raise SystemExit(
            f"error: found no Python.h for {sys.executable}: install Python's headers (on Debian, "
            "apt-get install python3-dev)"
        )


@functools.cache
def compression_library() -> tuple[str, list[tuple[str, str]]]:
    """Return the library to link with and its macros: ISA-L, which is several times faster, else zlib.

    `AERON_CORE_COMPRESSION=zlib` in the environment selects zlib if both are installed.
    """
    asked = os.environ.get("AERON_CORE_COMPRESSION", "")
    if asked not in {"", "isal", "zlib"}:
        raise SystemExit(f"error: AERON_CORE_COMPRESSION={asked}: must be isal or zlib")
    if asked != "zlib" and has_header("isa-l/igzip_lib.h"):
        return "isal", [("AERON_HAS_ISAL", "1")]
    if asked != "isal" and has_header("zlib.h"):
        return "z", []
    raise SystemExit(
        "error: found no header of ISA-L or zlib: on Debian, apt-get install libisal-dev or zlib1g-dev"
    )


def is_traced(name: str) -> bool:
    """Return whether a module reports the lines that it executes."""
    return any(name == package or name.startswith(f"{package}.") for package in TRACED)


def sanitizer_arguments() -> list[str]:
    """Return the arguments of the C compiler for `SANITIZERS`: a finding is reported, and the program continues."""
    if not SANITIZERS:
        return []
    return [f"-fsanitize={SANITIZERS}", "-fsanitize-recover=all", "-fno-omit-frame-pointer"]


#: Compiled for size, which makes them a quarter smaller: no loop over messages or datagrams is in them. They prepare
#: streams, connections and counters, run once per duty cycle or status message, wrap system calls, handle loss, errors
#: and the ends of connections, are base classes of plugins, or belong to the test kit.
SMALL = {
    "aeron_congestion.cubic",
    "aeron_congestion.static_window",
    "aeron_core._native.address",
    "aeron_core._native.commands",
    "aeron_core._native.connections",
    "aeron_core._native.mapped",
    "aeron_core._native.park",
    "aeron_core._native.peers",
    "aeron_core._native.semaphore",
    "aeron_core._native.wire",
    "aeron_core._native.xorshift",
    "aeron_core.agent.agent",
    "aeron_core.agent.duty_cycle",
    "aeron_core.agent.invoker",
    "aeron_core.agent.runner",
    "aeron_core.client.channel_peers",
    "aeron_core.client.publications.publication_state",
    "aeron_core.concurrent.loss_writer",
    "aeron_core.driver._native.networks",
    "aeron_core.driver._native.operations",
    "aeron_core.driver.agents.data_agent",
    "aeron_core.driver.agents.one_way_latency",
    "aeron_core.driver.agents.polled_endpoints",
    "aeron_core.driver.agents.rate_limit",
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
    "aeron_core.driver.sender.live_receivers",
    "aeron_core.driver.sender.publication_events",
    "aeron_core.driver.sender.receiver_proofs",
    "aeron_core.driver.sender.retransmit_handler",
    "aeron_core.logbuffer.descriptor",
    "aeron_core.logbuffer.gap_filler",
    "aeron_core.logbuffer.unblocker",
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


def extension(name: str, source: Path) -> Extension:
    """Return the extension of one module."""
    return Extension(
        name,
        [str(source)],
        include_dirs=["aeron_core/_native", str(source.parent)],
        # Without the GIL too: a traced line takes it.
        define_macros=[("CYTHON_TRACE_NOGIL", "1")] if is_traced(name) else [],
        depends=[str(path) for path in sorted(source.parent.glob("*.h"))],
        extra_compile_args=[
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
        ],
        extra_link_args=sanitizer_arguments() if DEBUG else ["-Wl,--strip-all"],
    )


def extensions() -> list[Extension]:
    """Return one extension for each module with a sibling `.pxd`."""
    found = []
    for root in map(Path, ROOTS):
        for package in PACKAGES:
            for declaration in sorted((root / package).rglob("*.pxd")):
                sources = [declaration.with_suffix(suffix) for suffix in (".pyx", ".py")]
                source = next((path for path in sources if path.exists()), None)
                if source is not None and source.name != "__init__.py":
                    name = ".".join(declaration.relative_to(root).with_suffix("").parts)
                    found.append(extension(name, source))
    return found


class Build(build):
    """Check what the compiler needs before anything is copied, so that an error is not behind a long log."""

    def run(self) -> None:
        """Build the distribution."""
        if self.distribution.has_ext_modules():
            compression_library()
            require_compiler()
        # After the checks, so that a build that cannot start changes nothing; before the file is copied.
        record_commit()
        super().run()


def is_newer(path: str, time: float, others: list[str]) -> bool:
    """Return whether a file exists and is newer than a time and than other files."""
    times = [time, *(os.path.getmtime(other) for other in others if os.path.exists(other))]
    return os.path.exists(path) and os.path.getmtime(path) > max(times)


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


class BuildExtensions(build_ext):
    """Translate to C in processes, compile in threads, and report progress.

    Translation runs here, not when this file is read, so that metadata and source distributions cost nothing.
    """

    def run(self) -> None:
        """Build all extensions."""
        self._started = time.monotonic()
        self._compiled = 0
        self._lock = threading.Lock()
        for ext in self.extensions:
            if ext.name in COMPRESSING:
                library, macros = compression_library()
                ext.libraries, ext.define_macros = [library], [*ext.define_macros, *macros]
        require_compiler()
        self._translate([ext for ext in self.extensions if not is_traced(ext.name)], DIRECTIVES)
        self._translate(
            [ext for ext in self.extensions if is_traced(ext.name)], DIRECTIVES | {"linetrace": True}
        )
        super().run()
        if self.inplace:
            record_commit()

    def _translate(self, modules: list[Extension], directives: dict[str, object]) -> None:
        """Translate modules to C and make the C files their sources."""
        translated = translate(
            modules,
            processes=CORES,
            compiler_directives=directives,
            include_path=ROOTS,
            build_dir=C_DIRECTORY,
            force=self.force,
            quiet=True,
            # Reports of sanitizers name lines of the source instead of the generated C file.
            emit_linenums=bool(SANITIZERS),
        )
        for ext, done in zip(modules, translated, strict=True):
            ext.sources, ext.depends = done.sources, done.depends
            ext.unchanged_since = getattr(done, "unchanged_since", None)

    def build_extension(self, ext: Extension) -> None:
        """Build one extension and report how many are done."""
        path = self.get_ext_fullpath(ext.name)
        stamp = FLAGS_DIRECTORY / f"{ext.name}-{'inplace' if self.inplace else 'build'}"
        record_flags(ext, stamp)
        ext.depends = [*ext.depends, str(stamp)]
        if ext.unchanged_since is not None and is_newer(path, ext.unchanged_since, ext.depends):
            # Compiled from this C code: a declaration changed that this module does not use.
            os.utime(path)
        before = os.path.getmtime(path) if os.path.exists(path) else 0
        super().build_extension(ext)
        with self._lock:
            self._compiled += 1
            if before != os.path.getmtime(path):
                self._report_progress()

    def _report_progress(self) -> None:
        """Print how many modules are done: on a terminal in one line, else every 25 modules."""
        count = len(self.extensions)
        is_last = self._compiled == count
        if sys.stderr.isatty() or is_last or self._compiled % 25 == 0:
            seconds = time.monotonic() - self._started
            start, end = ("\r", "" if not is_last else "\n") if sys.stderr.isatty() else ("", "\n")
            print(
                f"{start}compiled {self._compiled} of {count} modules, {seconds:.0f} s",
                end=end,
                file=sys.stderr,
            )


class PathFile:
    """Content of an editable installation: a `.pth` file with the source roots.

    With several roots setuptools installs an import hook instead, which type checkers and editors cannot read.
    """

    def __init__(self, name: str) -> None:
        self._name = f"__editable__.{name}.pth"

    def __call__(self, wheel, files: list[str], mapping: dict[str, str]) -> None:
        """Write the file into the wheel."""
        wheel.writestr(self._name, "".join(f"{(ROOT / root).resolve()}\n" for root in SOURCE_ROOTS))

    def __enter__(self) -> "PathFile":
        return self

    def __exit__(self, *_: object) -> None:
        pass


class EditableWheel(editable_wheel):
    """Make editable installations that type checkers can read."""

    def run(self) -> None:
        """Build the wheel."""
        record_commit()
        super().run()

    def _select_strategy(self, name: str, tag: str, build_lib: str) -> PathFile:
        # Private to setuptools, but the only place that chooses; tests/test_distributions.py fails if it changes.
        return PathFile(name)


ROOT = Path(__file__).parent
#: Read by `aeron_core.version`; part of source distributions, which have no repository.
COMMIT_FILE = ROOT / "aeron_core" / "commit.txt"


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run git in the folder of this file."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def record_commit() -> None:
    """Write the commit that is built, for labels of counters; keep what is there if this is no repository.

    Its form, also the suffix of a commit with changes, is that of the reference (CMakeLists.txt).
    """
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        return
    found = git("log", "-1", "--format=%h", "--abbrev=10")
    if found.returncode:
        return
    suffix = "+guilty" if git("diff-index", "--quiet", "HEAD", "--").returncode else ""
    text = found.stdout.strip() + suffix
    if not COMMIT_FILE.exists() or COMMIT_FILE.read_text(encoding="ascii") != text:
        COMMIT_FILE.write_text(text, encoding="ascii")


class SourceDistribution(sdist):
    """Record the commit, which an unpacked distribution does not contain."""

    def run(self) -> None:
        """Build the distribution."""
        record_commit()
        super().run()


# An editable installation compiles in a folder that it throws away, and the next `setup.py build_ext --inplace`
# would repeat all of it: with this variable the installation compiles nothing.
IS_COMPILED_ELSEWHERE = bool(os.environ.get("AERON_CORE_COMPILED_ELSEWHERE"))

setup(
    ext_modules=[] if IS_COMPILED_ELSEWHERE else extensions(),
    cmdclass={
        "build": Build,
        "build_ext": BuildExtensions,
        "editable_wheel": EditableWheel,
        "sdist": SourceDistribution,
    },
    options={"build_ext": {"parallel": CORES}},
)
