from dataclasses import replace

import pytest
from aeron_flow_control.max_flow_control import MaxFlowControl, UnicastFlowControl

from aeron_core.errors import ChannelUriError, ErrorCode
from aeron_core.protocol.frames import StatusMessage
from aeron_core.spi import FlowControlParams
from aeron_core.testing import FlowControlProbe

PARAMS = FlowControlParams("aeron:udp?endpoint=a:1|fc=max", 1, 2, 3, 0, 65536, 1408, True)


def made(strategy, options=""):
    return strategy(replace(PARAMS, options=options))


@pytest.mark.parametrize("strategy", [UnicastFlowControl, MaxFlowControl])
@pytest.mark.parametrize(
    ("position", "window", "limit", "expected"),
    [
        (0, 4096, 0, 4096),
        (4096, 4096, 8192, 8192),
        (4096, 4128, 8192, 8224),
        (0, 0, 8192, 8192),
        (2**40, 64, 0, 2**40 + 64),
    ],
)
def test_the_fastest_receiver_determines_the_limit(strategy, position, window, limit, expected):
    probe = FlowControlProbe(made(strategy))

    assert probe.on_status_message(StatusMessage(receiver_window=window), position, limit, 0) == expected


@pytest.mark.parametrize(("strategy", "multiple"), [(UnicastFlowControl, 16), (MaxFlowControl, 4)])
def test_a_nak_can_request_a_number_of_windows(strategy, multiple):
    assert made(strategy).retransmit_window_multiple == multiple
    assert made(strategy, "rrwm:9").retransmit_window_multiple == 9


@pytest.mark.parametrize(
    "options",
    ["rrwm:0", "rrwm:-1", "rrwm:", "rrwm", "rrwm:1k", "rrwm:\u00b2", "rrwm:99999999999", "g:/3", "x"],
)
def test_wrong_options_are_refused(options):
    with pytest.raises(
        ChannelUriError, match=r"field: .*: must be .*: channel=aeron:udp\?endpoint=a:1\|fc=max$"
    ) as caught:
        made(MaxFlowControl, options)

    assert caught.value.code is ErrorCode.GENERIC_ERROR


def test_wrong_options_of_the_default_are_refused_with_the_settings_that_have_them():
    params = replace(PARAMS, channel="aeron:udp?endpoint=a:1", options="rrwm:0")

    with pytest.raises(
        ChannelUriError, match=r"field: rrwm:0, .*: must be .*; correct the setting multicast_flow"
    ):
        MaxFlowControl(params)
