"""Conformance tests of media: channels, and for media with endpoints, their lifecycle and the transfer of a frame.

Not here: loss, multicast channels and the protocol of a medium.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

from pydantic import BaseModel

from aeron_core._native.address import SocketAddress
from aeron_core._native.clock import Clock
from aeron_core.driver.agents.counter_labels import SystemCounterLabels, labelled
from aeron_core.errors import ChannelUriError
from aeron_core.spi.media import Channel, MediaTransport, ReceiveEndpointParams, SendEndpointParams
from aeron_core.testing.conformance.open_descriptors import open_descriptors, opened_since
from aeron_core.testing.counters import make_counters
from aeron_core.testing.frames import data_frame
from aeron_core.testing.network import SimulatedNetwork
from aeron_core.testing.probes import ReceiveEndpointProbe, SendEndpointProbe
from aeron_core.testing.recorders import RecordingDispatcher, RecordingSendStream
from aeron_core.uri.addresses import parse_address
from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.keys import CHANNEL_KEYS

_POLLS: Final = 1000


class MediaTransportConformance(ABC):
    """Suite for a medium: subclass as `Test…` and override `make` and the channels.

    Endpoints that open datagram sockets with `open_datagrams` run on a simulated network, others on the real one.
    """

    #: Two channels that share nothing, with numeric addresses.
    channel = "aeron:udp?endpoint=127.0.0.1:20121"
    other_channel = "aeron:udp?endpoint=127.0.0.1:20122"
    #: A channel that the medium must refuse, None for none.
    wrong_channel: str | None = "aeron:udp?endpoint=no-port"

    @abstractmethod
    def make(self) -> MediaTransport:
        """Return the medium."""

    def test_all_parameters_have_defaults(self) -> None:
        """The medium supplies every parameter that a URI does not have."""
        parameters = self.make().parameters
        assert issubclass(parameters, BaseModel)
        required = [name for name, field in parameters.model_fields.items() if field.is_required()]
        assert required == [], f"without a default: {required}"

    def test_keys_of_channels_are_known(self) -> None:
        """The driver reports unknown keys: those of the parameters and of the channels must be known."""
        medium = self.make()
        fields = medium.parameters.model_fields.items()
        known = CHANNEL_KEYS | medium.uri_keys
        assert {field.alias or name for name, field in fields} <= known
        for channel in (self.channel, self.other_channel):
            unknown = sorted(ChannelUri.parse(channel).params.keys() - known)
            assert unknown == [], f"not in `parameters`: {unknown} of {channel}"

    def test_equal_channels_have_equal_forms(self) -> None:
        """Channels of equal form share an endpoint."""
        medium = self.make()
        for is_publication in (True, False):
            first, again = (self._resolved(medium, self.channel, is_publication) for _ in range(2))
            assert first.canonical_form == again.canonical_form
            assert first.uri == ChannelUri.parse(self.channel)

    def test_different_channels_have_different_forms(self) -> None:
        """Channels of different forms have endpoints of their own; shared memory is a single channel."""
        medium = self.make()
        if medium.is_shared_memory:
            return
        forms = {
            self._resolved(medium, text, False).canonical_form for text in (self.channel, self.other_channel)
        }
        assert len(forms) == 2, f"{forms} for {self.channel} and {self.other_channel}"

    def test_a_wrong_channel_raises_a_channel_uri_error(self) -> None:
        """The medium must raise ChannelUriError, which reaches the client, and no other exception."""
        if self.wrong_channel is None:
            return
        try:
            self._resolved(self.make(), self.wrong_channel, True)
        except ChannelUriError:
            return
        raise AssertionError(
            f"{self.wrong_channel} was accepted: resolve_channel must raise ChannelUriError for it"
        )

    def test_endpoints_can_be_reopened(self) -> None:
        """A closed endpoint releases its address at once."""
        lab = _Lab(self.make())
        if lab.medium.is_shared_memory:
            return
        for _ in range(2):
            receiver = lab.open_receive(self._resolved(lab.medium, self.channel, False))
            sender = lab.open_send(self._resolved(lab.medium, self.channel, True))
            for probe in (receiver, sender):
                assert all(isinstance(text, str) for text in lab.medium.local_addresses(probe.endpoint))
                lab.medium.close_endpoint(probe.endpoint)

    def test_closed_endpoints_have_no_open_descriptors(self) -> None:
        """Closing releases them at once, not when the garbage collector runs."""
        lab = _Lab(self.make())
        if lab.medium.is_shared_memory:
            return
        before = open_descriptors()
        receiver = lab.open_receive(self._resolved(lab.medium, self.channel, False))
        sender = lab.open_send(self._resolved(lab.medium, self.channel, True))
        receiver.poll()
        for probe in (receiver, sender):
            lab.medium.close_endpoint(probe.endpoint)
        kept = opened_since(before)
        assert kept == {}, f"still open: {kept}"

    def test_a_sent_frame_is_dispatched_unchanged(self) -> None:
        """Before anything is sent, a poll returns 0."""
        lab = _Lab(self.make())
        if lab.medium.is_shared_memory:
            return
        receiver = lab.open_receive(self._resolved(lab.medium, self.channel, False))
        sender = lab.open_send(self._resolved(lab.medium, self.channel, True))
        stream = RecordingSendStream(session_id=7, stream_id=1001)
        sender.add_stream(stream)
        assert receiver.poll() == 0
        frame = data_frame(b"hello")
        taken = sender.send(stream, [(frame, len(frame))])
        assert (taken.entries, taken.length) == (1, len(frame))
        for _ in range(_POLLS):
            if receiver.poll() > 0:
                break
        assert [call.data for call in lab.dispatcher.calls if call.kind == "data"] == [frame]

    def _resolved(self, medium: MediaTransport, text: str, is_publication: bool) -> Channel:
        return medium.resolve_channel(ChannelUri.parse(text), _resolve, is_publication=is_publication)


class _Lab:
    """A medium, and the arguments of its endpoints."""

    def __init__(self, medium: MediaTransport) -> None:
        self.medium = medium
        self.network = SimulatedNetwork(Clock.manual(now_ns=1))
        self.dispatcher = RecordingDispatcher()
        self._counters = make_counters(*(name for name, _ in labelled(SystemCounterLabels())))

    def open_send(self, channel: Channel) -> SendEndpointProbe:
        params = SendEndpointParams(channel, 0, self.network.open, self._counters, 0, 0, False, False)
        return SendEndpointProbe(self.medium.open_send_endpoint(params))

    def open_receive(self, channel: Channel) -> ReceiveEndpointProbe:
        params = ReceiveEndpointParams(
            channel, 0, self.network.open, self._counters, 0, 0, False, False, dispatcher=self.dispatcher
        )
        return ReceiveEndpointProbe(self.medium.open_receive_endpoint(params))


def _resolve(text: str, uri_key: str) -> SocketAddress:
    try:
        address = parse_address(text)
        return SocketAddress.of(address.host, address.port)
    except (OSError, ValueError) as error:
        raise ChannelUriError(f"{uri_key}={text}: must be a numeric address and a port") from error
