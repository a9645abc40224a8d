"""Arguments of the interceptors that drop received packets."""

import pytest

from aeron_core.errors import ConfigurationError
from aeron_core.settings import DriverSettings
from aeron_core.uri.packet_loss import FixedLoss, IncomingLosses, MultiGapLoss, RandomLoss


def test_random_loss_applies_to_the_types_in_the_mask():
    assert RandomLoss.parse("rate=0.25|seed=7|recv-msg-mask=2a") == RandomLoss(0.25, 7, 0x2A)
    assert RandomLoss.parse("recv-msg-mask=0xF|unknown=1") == RandomLoss(0.0, 0, 0xF)


def test_a_fixed_loss_needs_a_term_offset():
    assert FixedLoss.parse("term-id=-3|term-offset=64|length=128") == FixedLoss(-3, 64, 128)
    with pytest.raises(ConfigurationError, match="must have term-offset"):
        FixedLoss.parse("term-id=1|length=128")


@pytest.mark.parametrize(("radix", "rounded"), [(1, 1), (4096, 4096), (4097, 8192)])
def test_a_radix_is_rounded_up_to_a_power_of_two(radix, rounded):
    parsed = MultiGapLoss.parse(f"term-id=1|gap-radix={radix}|total-gaps=3")

    assert parsed == MultiGapLoss(1, rounded, 0, 3)


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"udp_channel_incoming_interceptors": "gone"}, "must be some of loss, fixed-loss, multi-gap-loss"),
        ({"udp_channel_incoming_interceptors": "fixed-loss"}, "must have term-offset"),
        ({"udp_channel_incoming_interceptors": "loss", "loss_args": "rate=2"}, "rate=2 in loss_args="),
        (
            {"udp_channel_incoming_interceptors": "loss", "loss_args": "seed=x"},
            "seed=x in loss_args='seed=x': must be a decimal number from 0 to 18446744073709551615",
        ),
        (
            {"udp_channel_incoming_interceptors": "loss", "loss_args": "recv-msg-mask=g"},
            "recv-msg-mask=g in loss_args='recv-msg-mask=g': must be a hexadecimal number from 0 to ffffffff",
        ),
        (
            {
                "udp_channel_incoming_interceptors": "multi-gap-loss",
                "multi_gap_loss_args": "gap-radix=64|gap-length=64",
            },
            "gap-length=64 in multi_gap_loss_args=",
        ),
    ],
)
def test_invalid_loss_settings_stop_the_start(settings, fault):
    with pytest.raises(ConfigurationError, match=fault):
        DriverSettings(**settings)


def test_nothing_is_lost_by_default_and_arguments_alone_lose_nothing():
    assert DriverSettings().incoming_losses == IncomingLosses()
    assert DriverSettings(loss_args="rate=1|recv-msg-mask=ff").incoming_losses == IncomingLosses()


def test_a_rate_that_is_not_a_number_is_rejected():
    with pytest.raises(
        ConfigurationError, match=r"rate=often in loss_args='rate=often': must be a number from 0.0 to 1.0"
    ):
        RandomLoss.parse("rate=often")
