"""Keys of the sealed stream and certificates of TLS, in files that all processes of a run can read."""

from __future__ import annotations

from pathlib import Path

import trustme
from aeron_security.identity_files import AllowedPeer, read_identity, write_identity, write_peers
from aeron_security.key_files import write_secret
from aeron_security.noise import public_key_of

from laboratory.plan import LEFT, MACHINES, RIGHT

PROFILE = "sealed"
#: Keys are changed several times in a run.
ROTATION_S = 2


class Credentials:
    """Files below the folder of a run, which no fault fills."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "credentials"

    def make(self) -> None:
        """Write all files; each machine allows the other one."""
        self._folder.mkdir(mode=0o700)
        write_secret(self._folder / "secret")
        for machine in MACHINES:
            write_identity(self._identity(machine))
        for machine in MACHINES:
            self.allow(machine)
        authority = trustme.CA()
        authority.cert_pem.write_to_path(str(self._folder / "ca.pem"))
        authority.issue_cert(RIGHT).private_key_and_cert_chain_pem.write_to_path(
            str(self._folder / "server.pem")
        )

    @property
    def server(self) -> str:
        """Keys of a channel that listens with TLS, each after `|`."""
        return f"|cert={self._folder / 'server.pem'}|key={self._folder / 'server.pem'}"

    @property
    def client(self) -> str:
        """Keys of a channel that connects with TLS, each after `|`."""
        return f"|ca={self._folder / 'ca.pem'}"

    def profile(self, machine: str, protector: str) -> str:
        """Return the security profile of the driver of a machine, as in AERON_SECURITY_PROFILES."""
        options = {"protector": protector, "rotation_interval": f"{ROTATION_S}s"}
        if protector == "identities":
            options |= {"identity": str(self._identity(machine)), "allow": str(self._peers(machine))}
        else:
            options["secret_file"] = str(self._folder / "secret")
        return ",".join((PROFILE, *(f"{name}={value}" for name, value in options.items())))

    def allow(self, machine: str) -> None:
        """Put the other machine on the list of allowed peers of a machine."""
        other = LEFT if machine == RIGHT else RIGHT
        write_peers(
            self._peers(machine), [AllowedPeer(other, public_key_of(read_identity(self._identity(other))))]
        )

    def revoke(self, machine: str) -> None:
        """Remove the other machine from the list of a machine."""
        write_peers(self._peers(machine), [])

    def _identity(self, machine: str) -> Path:
        return self._folder / f"{machine}.identity"

    def _peers(self, machine: str) -> Path:
        return self._folder / f"{machine}.peers"
