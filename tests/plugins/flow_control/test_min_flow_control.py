from dataclasses import replace

import pytest
from aeron_flow_control.min_flow_control import MinFlowControl, TaggedFlowControl

from aeron_core._native import wire
from aeron_core.errors import ChannelUriError
from aeron_core.protocol.frames import ErrorFrame, Setup, StatusMessage
from aeron_core.spi import FlowControlParams
from aeron_core.spi.stream_counter import detached_counter
from aeron_core.testing import FlowControlProbe

S = 1_000_000_000
WINDOW = 1000
PARAMS = FlowControlParams("aeron:udp?endpoint=224.0.1.1:1|fc=min", 1, 2, 3, 0, 65536, 1408, True)


class Group:
    """A strategy and the limit that the sender keeps; times are seconds."""

    def __init__(self, strategy, options="", **settings):
        self.counters = []
        self.probe = FlowControlProbe(
            strategy(replace(PARAMS, options=options, new_counter=self._new_counter, **settings))
        )
        self.limit = 0

    def _new_counter(self, type_id, name):
        assert (type_id, name) == (17, "fc-receivers")
        self.counters.append(detached_counter(type_id, name))
        return self.counters[-1]

    @property
    def receiver_count(self):
        (counter,) = self.counters
        return counter.get()

    def on_sm(self, receiver_id, position, at=0, *, window=WINDOW, flags=0, tag=None):
        sm = self._status_message(receiver_id, flags, tag, window)
        self.limit = self.probe.on_status_message(sm, position, self.limit, int(at * S))
        return self.limit

    def idles(self, at):
        self.limit = self.probe.on_idle(self.limit, 0, False, int(at * S))
        return self.limit

    def is_asked_for_setup(self, receiver_id, at=0, tag=None):
        sm = self._status_message(receiver_id, wire.SM_FLAG_SEND_SETUP, tag, WINDOW)
        self.probe.on_setup_elicited(sm, int(at * S))
        self.limit = self.probe.on_setup(Setup(), self.limit, int(at * S))

    def on_error_frame(self, receiver_id):
        self.probe.on_error(ErrorFrame(receiver_id=receiver_id), 0)

    def is_complete(self):
        return self.probe.has_required_receivers(0)

    @staticmethod
    def _status_message(receiver_id, flags, tag, window):
        return StatusMessage(
            receiver_id=receiver_id,
            receiver_window=window,
            flags=flags,
            has_group_tag=tag is not None,
            group_tag=tag or 0,
        )


@pytest.fixture(params=[MinFlowControl, TaggedFlowControl])
def of_any_kind(request):
    """A strategy and the tag that its receivers must send."""
    return request.param, (5 if request.param is TaggedFlowControl else None)


def test_the_slowest_receiver_determines_the_limit(of_any_kind):
    strategy, tag = of_any_kind
    group = Group(strategy, "g:5")

    assert group.on_sm(1, 0, tag=tag) == 1000
    assert group.on_sm(2, 500, tag=tag) == 1000
    assert group.on_sm(1, 800, tag=tag) == 1500
    assert group.on_sm(2, 900, tag=tag) == 1800
    assert group.receiver_count == 2


def test_a_status_message_never_lowers_the_limit():
    group = Group(MinFlowControl)
    group.on_sm(1, 5000)

    assert group.on_sm(2, 5000, window=500) == 6000
    assert group.idles(1) == 5500, "an idle sender goes back to the slowest"


def test_a_receiver_more_than_a_window_behind_is_not_added():
    group = Group(MinFlowControl)
    group.on_sm(1, 10_000)

    group.on_sm(2, 8_999)
    assert group.receiver_count == 1
    group.on_sm(2, 9_000)
    assert group.receiver_count == 2


def test_a_silent_receiver_is_removed_exactly_after_the_timeout():
    group = Group(MinFlowControl, "t:3s")
    group.on_sm(1, 0, at=0)
    group.on_sm(2, 500, at=2)

    assert group.idles(3) == 1000
    assert group.idles(3.000001) == 1500
    assert group.receiver_count == 1


def test_an_active_receiver_stays_when_others_are_removed():
    group = Group(MinFlowControl)
    group.on_sm(1, 0, at=0)
    group.on_sm(2, 100, at=4)
    group.on_sm(3, 0, at=0)

    assert group.idles(5.5) == 1100
    assert group.receiver_count == 1


@pytest.mark.parametrize("count", [9, 100])
def test_any_number_of_receivers_is_counted(count):
    group = Group(MinFlowControl)
    for receiver in range(count):
        group.on_sm(receiver, 1000 - receiver, at=1)

    assert group.receiver_count == count
    assert group.idles(1) == 2000 - (count - 1)
    for receiver in range(1, count):
        group.on_sm(receiver, 2000, at=8)
    assert group.idles(8) == 3000
    assert group.receiver_count == count - 1


def test_a_receiver_that_ends_is_removed_when_the_sender_idles():
    group = Group(MinFlowControl)
    group.on_sm(1, 0)
    group.on_sm(2, 500)

    group.on_sm(1, 0, flags=wire.SM_FLAG_EOS)
    assert group.idles(0) == 1500
    assert group.receiver_count == 1


def test_a_receiver_that_has_ended_is_not_added():
    group = Group(MinFlowControl)
    group.on_sm(1, 0, flags=wire.SM_FLAG_EOS)

    assert group.receiver_count == 0


def test_a_receiver_that_rejects_the_stream_is_removed():
    group = Group(MinFlowControl)
    group.on_sm(1, 0)
    group.on_sm(2, 500)

    group.on_error_frame(1)
    group.on_error_frame(99)
    assert group.idles(0) == 1500


def test_the_limit_does_not_advance_until_the_group_is_complete(of_any_kind):
    strategy, tag = of_any_kind
    group = Group(strategy, "g:5/2")

    assert group.on_sm(1, 0, tag=tag) == 0
    assert not group.is_complete()
    assert group.on_sm(2, 0, tag=tag) == 1000
    assert group.is_complete()


def test_an_incomplete_group_is_reported_and_stops_the_limit():
    group = Group(MinFlowControl, "g:/2")
    group.on_sm(1, 0, at=0)
    group.on_sm(2, 0, at=0)
    group.on_sm(1, 500, at=4)

    assert group.idles(6) == 1000
    assert not group.is_complete()
    assert group.on_sm(1, 900, at=6) == 1000


def test_without_a_receiver_an_idle_sender_keeps_its_limit():
    assert Group(MinFlowControl).idles(100) == 0
    assert Group(MinFlowControl).is_complete()


def test_settings_apply_without_channel_options():
    group = Group(MinFlowControl, group_min_size=2, receiver_timeout_ns=S)
    group.on_sm(1, 0, at=0)
    assert not group.is_complete()
    group.on_sm(2, 0, at=0)
    group.idles(2)
    assert group.receiver_count == 0


def test_only_receivers_with_the_group_tag_are_counted():
    group = Group(TaggedFlowControl, "g:5")
    group.on_sm(1, 2000, tag=5)

    group.on_sm(2, 0, tag=6)
    group.on_sm(3, 0)

    assert group.receiver_count == 1
    assert group.idles(0) == 3000


def test_without_receivers_of_the_group_others_advance_the_limit():
    group = Group(TaggedFlowControl, "g:5")

    assert group.on_sm(1, 2000) == 3000
    assert group.on_sm(2, 0, tag=6) == 3000
    assert group.receiver_count == 0


def test_other_receivers_do_not_advance_the_limit_of_a_required_group():
    group = Group(TaggedFlowControl, "g:5/1")

    assert group.on_sm(1, 2000, tag=6) == 0
    assert not group.is_complete()


def test_a_setup_holds_the_limit_until_its_receiver_is_added(of_any_kind):
    strategy, tag = of_any_kind
    group = Group(strategy, "g:5")
    group.on_sm(1, 0, tag=tag)

    group.is_asked_for_setup(2, tag=tag)
    assert group.on_sm(1, 1000, tag=tag) == 1000
    assert group.idles(1) == 1000
    assert group.on_sm(2, 1000, tag=tag) == 2000


def test_a_setup_holds_the_limit_at_most_for_the_timeout():
    group = Group(MinFlowControl, "t:2s")
    group.on_sm(1, 0, at=0)
    group.is_asked_for_setup(2, at=0)
    group.on_sm(1, 1000, at=2)

    assert group.idles(2) == 1000
    assert group.idles(2.000001) == 2000


def test_a_setup_for_a_receiver_of_another_group_does_not_hold_the_limit():
    group = Group(TaggedFlowControl, "g:5")
    group.on_sm(1, 0, tag=5)
    group.is_asked_for_setup(2, tag=6)

    assert group.on_sm(1, 1000, tag=5) == 2000


@pytest.mark.parametrize(
    ("options", "multiple"), [("", 4), ("rrwm:9", 9), ("g:/3,t:5s,rrwm:2", 2), ("g:-1,t:1ms", 4)]
)
def test_options_can_be_combined(options, multiple):
    assert MinFlowControl(replace(PARAMS, options=options)).retransmit_window_multiple == multiple


@pytest.mark.parametrize(
    "options",
    [
        "g:",
        "g:/",
        "g:x",
        "g:1/x",
        "g:1/-1",
        "g:1/2147483648",
        "g:9223372036854775808",
        "g",
        "t:",
        "t:0s",
        "t:-1s",
        "t:5y",
        "rrwm:0",
        "tag:5",
    ],
)
def test_wrong_options_are_refused_with_the_allowed_values(options):
    with pytest.raises(ChannelUriError, match=r"field: .*: must be .*: channel=aeron:udp.*\|fc=min$"):
        MinFlowControl(replace(PARAMS, options=options))
