from dataclasses import dataclass, field
from pathlib import Path

import pytest

from aeron_core.cli.doctor.findings import Examination
from aeron_core.cli.doctor.machine import DiskSpace, Machine
from aeron_core.settings import load_driver_settings
from aeron_core.uri.channel_uri import ChannelUri

MIB = 1024 * 1024


class RecordedMachine(Machine):
    """A machine of files, with recorded answers of its kernel."""

    def __init__(self, root):
        super().__init__(root)
        self.free = self.total = 1024 * MIB
        self.granted = 4 * MIB
        self.offload = {"gso": True, "gro": True}
        self.resolution_ns, self.read_ns = 1, 50
        self.writable = True

    def space(self, folder):
        return None if self.free is None else DiskSpace(self.total, self.free)

    def is_writable(self, folder):
        return self.writable

    def socket_buffer_length(self, option, asked):
        return None if self.granted is None else min(asked, self.granted)

    def has_gso(self):
        return self.offload["gso"]

    def has_gro(self):
        return self.offload["gro"]

    def clock_resolution_ns(self):
        return self.resolution_ns

    def clock_read_ns(self):
        return self.read_ns


@dataclass
class Patient:
    """A machine below a folder of a test, its settings and its channels."""

    root: Path
    machine: RecordedMachine
    channels: list[str] = field(default_factory=list)
    settings: dict[str, object] = field(default_factory=dict)

    def write(self, path, text):
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def findings(self, check):
        """Return the findings of a check by what they are about."""
        settings = {"aeron_dir": "/dev/shm/aeron-me", **self.settings}
        loaded = load_driver_settings(arguments=settings, environ={})
        channels = [ChannelUri.parse(text) for text in self.channels]
        found = list(check(Examination(self.machine, loaded.settings, channels)))
        by_name = {finding.what: finding for finding in found}
        assert len(by_name) == len(found)
        return by_name

    def health(self, check, what):
        """Return the health and the found value of one line."""
        finding = self.findings(check)[what]
        return finding.health.value, finding.found


@pytest.fixture
def patient(tmp_path):
    root = tmp_path / "machine"
    (root / "dev" / "shm").mkdir(parents=True)
    return Patient(root, RecordedMachine(root))
