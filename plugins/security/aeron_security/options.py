"""Options of a security profile that all built-in protectors have, and what they need of the machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from aeron_core.errors import ConfigurationError
from aeron_core.frozen import frozen
from aeron_core.uri.values import parse_duration_ns
from aeron_security._native import sealing

COMMON_OPTIONS: Final = ("cipher", "rotation_interval", "allow_weak_freshness")
CIPHERS: Final = {"aes-128-gcm": 1, "aes-256-gcm": 2, "chacha20-poly1305": 3}
_S: Final = 1_000_000_000
_MIN_ROTATION_NS: Final = 1 * _S
_MAX_ROTATION_NS: Final = 7 * 24 * 3600 * _S
LIBRARY_REMEDY: Final = "install OpenSSL 3 (on Debian, apt-get install libssl3)"


@frozen()
class CommonOptions:
    """`cipher`: a number of the wire page."""

    cipher: int
    rotation_interval_ns: int
    allows_weak_freshness: bool

    @classmethod
    def parse(cls, heading: str, options: Mapping[str, str]) -> CommonOptions:
        """Return the options, with defaults; raise ConfigurationError, whose text begins with `heading`."""
        cipher = options.get("cipher", "aes-128-gcm")
        if cipher not in CIPHERS:
            raise ConfigurationError(f"{heading}: cipher={cipher}: must be one of {', '.join(CIPHERS)}")
        weak = options.get("allow_weak_freshness", "false")
        if weak not in ("true", "false"):
            raise ConfigurationError(f"{heading}: allow_weak_freshness={weak}: must be true or false")
        return cls(CIPHERS[cipher], _rotation_ns(heading, options), weak == "true")


def check_names(heading: str, options: Mapping[str, str], allowed: Sequence[str]) -> None:
    """Raise ConfigurationError if there is an option with another name than the allowed ones."""
    for name in options:
        if name not in allowed:
            raise ConfigurationError(
                f"{heading}: unknown option {name!r}: must be one of {', '.join(allowed)}"
            )


def _rotation_ns(heading: str, options: Mapping[str, str]) -> int:
    text = options.get("rotation_interval", "3600s")
    try:
        interval_ns = parse_duration_ns(text)
    except ConfigurationError:
        interval_ns = 0
    if not _MIN_ROTATION_NS <= interval_ns <= _MAX_ROTATION_NS:
        raise ConfigurationError(
            f"{heading}: rotation_interval={text}: must be a duration from 1s to 604800s"
        )
    return interval_ns


def check_machine(profile: str, options: CommonOptions) -> None:
    """Raise ConfigurationError if this machine has not what a profile needs."""
    heading = f"security profile {profile!r}"
    if not sealing.is_available():
        raise ConfigurationError(f"{heading}: found no libcrypto.so.3: {LIBRARY_REMEDY}")
    if not (sealing.has_fresh_numbers() or options.allows_weak_freshness):
        raise ConfigurationError(
            f"{heading}: the processor has no instruction for random numbers (RDRAND or RNDR), without which two "
            f"copies of one virtual machine may use a key twice: set allow_weak_freshness=true if no snapshot of this "
            f"machine is started twice"
        )
