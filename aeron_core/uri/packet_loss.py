"""Deliberate loss of received packets: `loss`, `fixed-loss` and `multi-gap-loss`, with their arguments.

Source: aeron_udp_channel_transport_loss.c, aeron_fixed_loss_generator.c, aeron_multi_gap_loss_generator.c.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from aeron_core.errors import ConfigurationError
from aeron_core.frozen import frozen
from aeron_core.uri.values import INT32_MAX, INT32_MIN

_SEED_BITS = 64
_MASK_BITS = 32
_HEXADECIMAL = 16


@frozen()
class RandomLoss:
    """Drops a share, from 0.0 to 1.0, of the packets with a frame type in the mask: bit n stands for type n."""

    rate: float = 0.0
    seed: int = 0
    type_mask: int = 0

    @classmethod
    def parse(cls, text: str) -> RandomLoss:
        """Parse `rate=0.1|seed=1|recv-msg-mask=0xF`, all 0 by default.

        The rate is from 0.0 to 1.0, the seed has 64 bits, the hexadecimal mask 32. Raises ConfigurationError for a
        wrong value.
        """
        args = _Arguments("loss_args", text)
        return cls(
            args.rate("rate"),
            args.integer("seed", 0, (1 << _SEED_BITS) - 1),
            args.integer("recv-msg-mask", 0, (1 << _MASK_BITS) - 1, base=_HEXADECIMAL),
        )


@frozen()
class FixedLoss:
    """Drops data that overlaps one range of one term; a retransmission of it passes."""

    term_id: int
    term_offset: int
    length: int

    @classmethod
    def parse(cls, text: str) -> FixedLoss:
        """Parse `term-id=0|term-offset=0|length=1408`; the offset is required, the others are 0 by default.

        Offset and length are bytes, from 0 to 2**31 - 1; the term id is an int32. Raises ConfigurationError for a wrong
        value, and without an offset.
        """
        args = _Arguments("fixed_loss_args", text)
        args.require("term-offset")
        return cls(
            args.integer("term-id", INT32_MIN, INT32_MAX),
            args.integer("term-offset", 0, INT32_MAX),
            args.integer("length", 0, INT32_MAX),
        )


@frozen()
class MultiGapLoss:
    """Drops data at `total_gaps` offsets of one term: multiples of `gap_radix`, from the first above 0.

    A packet is dropped if it overlaps the `gap_length` bytes from there on; a retransmission of it passes.
    """

    term_id: int
    gap_radix: int
    gap_length: int
    total_gaps: int

    @classmethod
    def parse(cls, text: str) -> MultiGapLoss:
        """Parse `term-id=0|gap-radix=4096|gap-length=64|total-gaps=2`, all 0 by default.

        The radix, from 0 to 2**30 bytes, is rounded up to a power of two; the length must be below it. Raises
        ConfigurationError for a wrong value.
        """
        args = _Arguments("multi_gap_loss_args", text)
        radix = args.integer("gap-radix", 0, 1 << 30)
        radix = 1 << max(0, radix - 1).bit_length()
        return cls(
            args.integer("term-id", INT32_MIN, INT32_MAX),
            radix,
            args.integer("gap-length", 0, radix - 1),
            args.integer("total-gaps", 0, INT32_MAX),
        )


@frozen()
class IncomingLosses:
    """The losses applied to received packets; none by default."""

    random: RandomLoss | None = None
    fixed: FixedLoss | None = None
    multi_gap: MultiGapLoss | None = None

    @classmethod
    def parse(cls, names: Iterable[str], arguments: Mapping[str, str | None]) -> IncomingLosses:
        """Return the losses in `names`, each with its arguments, the text of its setting by name.

        Raises ConfigurationError for a name that `arguments` does not have, and for wrong arguments.
        """
        wanted = set(names)
        unknown = sorted(wanted.difference(arguments))
        if unknown:
            raise ConfigurationError(
                f"udp_channel_incoming_interceptors={','.join(unknown)}: must be some of {', '.join(arguments)}"
            )
        texts = {name: arguments[name] or "" for name in wanted}
        return cls(
            RandomLoss.parse(texts["loss"]) if "loss" in wanted else None,
            FixedLoss.parse(texts["fixed-loss"]) if "fixed-loss" in wanted else None,
            MultiGapLoss.parse(texts["multi-gap-loss"]) if "multi-gap-loss" in wanted else None,
        )


class _Arguments:
    """`key=value` pairs of a setting, separated by `|`; unknown keys are ignored."""

    def __init__(self, setting: str, text: str) -> None:
        self._setting = setting
        self._text = text
        self._values = dict(pair.split("=", 1) for pair in text.split("|") if "=" in pair)

    def require(self, key: str) -> None:
        if key not in self._values:
            raise ConfigurationError(f"{self._setting}={self._text!r}: must have {key}, as in {key}=0")

    def integer(self, key: str, minimum: int, maximum: int, *, base: int = 10) -> int:
        try:
            value = int(self._values.get(key, "0"), base)
        except ValueError:
            value = minimum - 1
        if not minimum <= value <= maximum:
            kind, form = ("hexadecimal", "x") if base == _HEXADECIMAL else ("decimal", "d")
            raise self._fault(key, f"must be a {kind} number from {minimum:{form}} to {maximum:{form}}")
        return value

    def rate(self, key: str) -> float:
        try:
            value = float(self._values.get(key, "0"))
        except ValueError:
            value = -1.0
        if not 0.0 <= value <= 1.0:
            raise self._fault(key, "must be a number from 0.0 to 1.0")
        return value

    def _fault(self, key: str, allowed: str) -> ConfigurationError:
        return ConfigurationError(
            f"{key}={self._values.get(key)} in {self._setting}={self._text!r}: {allowed}"
        )
