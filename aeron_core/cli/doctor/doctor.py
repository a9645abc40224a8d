"""`aeron-core doctor`: checks this machine before a driver runs on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

import typer

from aeron_core.cli.doctor.directory import check_directory
from aeron_core.cli.doctor.findings import Check, Examination, Finding, Health, unknown
from aeron_core.cli.doctor.installation import check_plugins, check_python
from aeron_core.cli.doctor.kernel import check_clock, check_huge_pages, check_kernel
from aeron_core.cli.doctor.machine import Machine
from aeron_core.cli.doctor.memory import check_container_memory, check_limits, check_shared_memory
from aeron_core.cli.doctor.network import check_interfaces, check_offload, check_socket_buffers
from aeron_core.cli.doctor.ports import check_ports
from aeron_core.cli.doctor.processors import check_governor, check_isolation, check_processors
from aeron_core.cli.options import AeronDir, Defines, Json, SettingsFiles, print_json
from aeron_core.cli.outcome import EXIT_FAILURE, ended, message_of
from aeron_core.cli.text_table import BOLD, DIM, RED, YELLOW, counted, print_table
from aeron_core.registry import Registry
from aeron_core.settings import load_driver_settings
from aeron_core.uri.channel_uri import ChannelUri

#: In the order of the report.
CHECKS: Final[tuple[Check, ...]] = (
    check_kernel,
    check_clock,
    check_huge_pages,
    check_processors,
    check_isolation,
    check_governor,
    check_shared_memory,
    check_limits,
    check_container_memory,
    check_socket_buffers,
    check_offload,
    check_interfaces,
    check_ports,
    check_directory,
    check_python,
    check_plugins,
)
_STYLES: Final = {Health.ADVICE: YELLOW, Health.PROBLEM: RED, Health.UNKNOWN: DIM}


def doctor(
    files: SettingsFiles = None,
    define: Defines = None,
    aeron_dir: AeronDir = None,
    channel: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CHANNEL",
            help="Check the ports of this channel instead of the default ones; may be repeated.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Check whether this machine is prepared for a driver.

    Takes the same files, -D and environment variables as `aeron-core driver`. Each line shows what was found, what a
    driver wants, and how to change it. `problem` would stop a driver, or a subscription to one of the channels:
    the exit code is 1. `advice` costs throughput, latency or safety, and `unknown` cannot be read.
    """
    arguments = {} if aeron_dir is None else {"aeron_dir": aeron_dir}
    loaded = load_driver_settings(
        arguments=arguments,
        defines=define or [],
        files=files or [],
        sections=_section_names(),
    )
    examined = Examination(
        Machine(Path("/")), loaded.settings, [ChannelUri.parse(text) for text in channel or []]
    )
    findings = [
        *(Finding("settings", text, "no warning", Health.ADVICE) for text in loaded.warnings),
        *findings_of(examined),
    ]
    if json:
        print_json([_document(finding) for finding in findings])
    else:
        _print(findings)
    if any(finding.health is Health.PROBLEM for finding in findings):
        raise ended(EXIT_FAILURE)


def findings_of(examined: Examination, checks: tuple[Check, ...] = CHECKS) -> Iterator[Finding]:
    """Yield the findings of all checks; a check that fails yields one that is unknown."""
    for check in checks:
        try:
            yield from check(examined)
        except Exception as error:
            # Any error: what files of other kernels contain is not known, and the other checks are useful.
            what = check.__name__.removeprefix("check_").replace("_", " ")
            yield unknown(what, f"{type(error).__name__}: {message_of(error)}")


def _section_names() -> list[str]:
    try:
        return Registry.load().section_names()
    except Exception:
        # Reported by the check of plugins.
        return []


def _document(finding: Finding) -> dict[str, object]:
    document = asdict(finding)
    return document if finding.health is not Health.OK else {**document, "change": ""}


def _print(findings: list[Finding]) -> None:
    rows = [
        (
            finding.health.value,
            finding.what,
            finding.found,
            finding.wanted,
            "" if finding.health is Health.OK else finding.change,
        )
        for finding in findings
    ]
    styles = [{"status": _STYLES.get(finding.health, ""), "check": BOLD} for finding in findings]
    print_table(("status", "check", "found", "wanted", "how to change it"), rows, styles=styles)
    counts = {health: sum(finding.health is health for finding in findings) for health in Health}
    print(
        f"{counted(counts[Health.PROBLEM], 'problem')}, {counts[Health.ADVICE]} advised, "
        f"{counts[Health.UNKNOWN]} unknown, {counts[Health.OK]} ok"
    )
