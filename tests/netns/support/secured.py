"""Keys and channels of machines whose streams are sealed."""

from __future__ import annotations

import random

from aeron_security.noise import public_key_of


class Keys:
    """Key files of three machines: one secret, or an identity each."""

    def __init__(self, folder, kind, *options):
        self._folder, self._kind, self._options = folder, kind, options
        private = [random.Random(number).randbytes(32) for number in range(3)]
        for number, key in enumerate(private):
            self._write(f"{number}.identity", f"aeron-core-identity {key.hex()}")
        self._write(
            "peers", *(f"host-{number} {public_key_of(key).hex()}" for number, key in enumerate(private))
        )
        self._write("orders.key", private[0].hex())

    def _write(self, name, *lines):
        path = self._folder / name
        path.write_text("\n".join(lines) + "\n", encoding="ascii")
        path.chmod(0o600)

    def of(self, index):
        """Return the environment of a machine."""
        options = [f"secret_file={self._folder}/orders.key"]
        if self._kind == "identities":
            options = [
                "protector=identities",
                f"identity={self._folder}/{index}.identity",
                f"allow={self._folder}/peers",
            ]
        return {"AERON_SECURITY_PROFILES": ",".join(["orders", *options, *self._options])}


def with_options(channel, options):
    """Return a channel with options; its destinations, behind it, have none."""
    channel, *destinations = channel.split()
    return " ".join([channel + options, *destinations])
