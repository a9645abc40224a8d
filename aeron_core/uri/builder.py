"""Builder of channel URIs: a method for each key of UDP and IPC channels, named like the key.

Source: ChannelUriStringBuilder.java, aeron_uri_string_builder.c.
"""

from __future__ import annotations

from aeron_core._native import wire
from aeron_core.errors import ConfigurationError
from aeron_core.uri.channel_uri import IPC_MEDIA, SPY_PREFIX, ChannelUri, ParamValue, format_param
from aeron_core.uri.values import format_duration_ns


class ChannelUriBuilder:
    """Collects the parts of a channel URI; each method but `build` returns the builder.

    Keys keep the order in which they were first set. Sizes are bytes or text such as "64k"; durations are
    nanoseconds or text such as "5s"; None removes a key. Methods that set a key raise ChannelUriError for an empty text
    and for one with `?`, `|` or `=`. Ranges are checked by the driver, not here, except those of `initial_position`.
    """

    def __init__(self, uri: ChannelUri | None = None) -> None:
        self._prefix = uri.prefix if uri is not None else ""
        self._media = uri.media if uri is not None else IPC_MEDIA
        self._params = dict(uri.params) if uri is not None else {}

    def build(self) -> ChannelUri:
        """Return the URI with the keys set so far; the builder can still be used.

        Raises ChannelUriError for a wrong medium, a key or value with NUL, and a URI of more than 4095 bytes.
        """
        return ChannelUri(self._media, self._params, self._prefix)

    def __str__(self) -> str:
        return str(self.build())

    def put(self, key: str, value: ParamValue | None) -> ChannelUriBuilder:
        """Set any `key`, or remove it if `value` is None.

        Raises ChannelUriError if key or value is empty or contains `?`, `|` or `=`.
        """
        if value is None:
            self._params.pop(key, None)
        else:
            self._params[key] = format_param(key, value)
        return self

    def spy(self, *, enabled: bool = True) -> ChannelUriBuilder:
        """Set or remove the prefix `aeron-spy:`, to subscribe to a publication of the same driver."""
        self._prefix = SPY_PREFIX if enabled else ""
        return self

    def media(self, name: str) -> ChannelUriBuilder:
        """Set the medium; the default is "ipc"."""
        self._media = name
        return self

    # Addresses

    def endpoint(self, address: str | None) -> ChannelUriBuilder:
        """Set the address that data is sent to or received on, host:port."""
        return self.put("endpoint", address)

    def interface(self, interface: str | None) -> ChannelUriBuilder:
        """Set the local interface, address[:port][/prefix] or {name}[:port]."""
        return self.put("interface", interface)

    def control(self, address: str | None) -> ChannelUriBuilder:
        """Set the control address, host:port: of channels with several destinations, or for responses."""
        return self.put("control", address)

    def control_mode(self, mode: str | None) -> ChannelUriBuilder:
        """Set how destinations are found: `manual`, `dynamic` or `response`."""
        return self.put("control-mode", mode)

    def tags(self, channel_tag: int | None, entity_tag: int | None = None) -> ChannelUriBuilder:
        """Set the tag for sharing a channel and the tag that identifies a publication; None leaves one out."""
        channel = "" if channel_tag is None else str(channel_tag)
        entity = "" if entity_tag is None else f",{entity_tag}"
        return self.put("tags", f"{channel}{entity}" or None)

    def ttl(self, hops: int | None) -> ChannelUriBuilder:
        """Set the time to live of multicast, 0 to 255 hops; 0 stands for the driver's default."""
        return self.put("ttl", hops)

    def security(self, profile: str | None) -> ChannelUriBuilder:
        """Set the security profile of the driver's settings by which datagrams are sealed."""
        return self.put("security", profile)

    def alias(self, text: str | None) -> ChannelUriBuilder:
        """Set a human-readable name; drivers ignore it."""
        return self.put("alias", text)

    # Terms and positions

    def term_length(self, length: int | str | None) -> ChannelUriBuilder:
        """Set the length of a term in bytes, a power of two from 64 KiB to 1 GiB."""
        return self.put("term-length", length)

    def init_term_id(self, term_id: int | None) -> ChannelUriBuilder:
        """Set the first term id of the stream, an int32; requires `term_id` and `term_offset`."""
        return self.put("init-term-id", term_id)

    def term_id(self, term_id: int | None) -> ChannelUriBuilder:
        """Set the term id to start at, an int32; requires `init_term_id` and `term_offset`."""
        return self.put("term-id", term_id)

    def term_offset(self, offset: int | None) -> ChannelUriBuilder:
        """Set the offset in the term `term_id` to start at, a multiple of 32 bytes from 0 to the term length."""
        return self.put("term-offset", offset)

    def initial_position(self, position: int, initial_term_id: int, term_length: int) -> ChannelUriBuilder:
        """Set the four keys that make a stream start at `position`, a multiple of 32 bytes, at least 0.

        Raises ConfigurationError for another position, and if `term_length`, in bytes, is not a power of two.
        """
        if position < 0 or position % wire.FRAME_ALIGNMENT:
            raise ConfigurationError(
                f"initial position {position}: must be a multiple of {wire.FRAME_ALIGNMENT} bytes, at least 0"
            )
        if term_length <= 0 or term_length & (term_length - 1):
            raise ConfigurationError(
                f"term length {term_length}: must be a power of two; drivers accept {wire.TERM_MIN_LENGTH} to "
                f"{wire.TERM_MAX_LENGTH} bytes"
            )
        terms, offset = divmod(position, term_length)
        # Term ids are int32 and wrap around.
        term_id = (initial_term_id + terms + 2**31) % 2**32 - 2**31
        self.init_term_id(initial_term_id).term_id(term_id)
        return self.term_offset(offset).term_length(term_length)

    def mtu(self, length: int | str | None) -> ChannelUriBuilder:
        """Set the maximum length of a frame, header included, a multiple of 32 from 64 to 65504 bytes."""
        return self.put("mtu", length)

    def sparse(self, enabled: bool | None) -> ChannelUriBuilder:
        """Set whether the log file is created sparse: disk space is allocated on use."""
        return self.put("sparse", enabled)

    # Publications

    def session_id(self, session_id: int | str | None) -> ChannelUriBuilder:
        """Set the session id, or `tag:<entity tag>` to copy that of another publication."""
        return self.put("session-id", session_id)

    def stream_id(self, stream_id: int | None) -> ChannelUriBuilder:
        """Set the stream id, for tools; drivers ignore it."""
        return self.put("stream-id", stream_id)

    def linger(self, timeout: int | str | None) -> ChannelUriBuilder:
        """Set the time for which a drained publication remains available for retransmits."""
        return self._put_duration("linger", timeout)

    def eos(self, enabled: bool | None) -> ChannelUriBuilder:
        """Set whether the end of the stream is announced."""
        return self.put("eos", enabled)

    def ssc(self, enabled: bool | None) -> ChannelUriBuilder:
        """Set whether spies simulate a connection."""
        return self.put("ssc", enabled)

    def fc(self, strategy: str | None) -> ChannelUriBuilder:
        """Set the flow control, such as `min,g:/3,t:5s`."""
        return self.put("fc", strategy)

    def pub_wnd(self, length: int | str | None) -> ChannelUriBuilder:
        """Set how many bytes a publisher may be ahead of its slowest consumer, from one mtu to half a term."""
        return self.put("pub-wnd", length)

    def max_resend(self, count: int | None) -> ChannelUriBuilder:
        """Set how many retransmits of a publication may be active at once, 1 to 256."""
        return self.put("max-resend", count)

    def channel_snd_ts_offset(self, offset: int | str | None) -> ChannelUriBuilder:
        """Set where the send time of the driver is stored: a payload offset in bytes, or `reserved`."""
        return self.put("channel-snd-ts-offset", offset)

    # Subscriptions

    def reliable(self, enabled: bool | None) -> ChannelUriBuilder:
        """Set whether lost frames are retransmitted (true) or replaced with padding (false)."""
        return self.put("reliable", enabled)

    def tether(self, enabled: bool | None) -> ChannelUriBuilder:
        """Set whether a slow subscriber applies back-pressure to the stream."""
        return self.put("tether", enabled)

    def group(self, membership: bool | str | None) -> ChannelUriBuilder:
        """Set true, false or "infer": whether the receiver belongs to a group, which affects NAK delays."""
        return self.put("group", membership)

    def rejoin(self, enabled: bool | None) -> ChannelUriBuilder:
        """Set whether an image may be created again after it became unavailable."""
        return self.put("rejoin", enabled)

    def gtag(self, tag: int | None) -> ChannelUriBuilder:
        """Set the group tag to send in status messages, a signed 64-bit number."""
        return self.put("gtag", tag)

    def cc(self, strategy: str | None) -> ChannelUriBuilder:
        """Set the congestion control, such as `static` or `cubic`."""
        return self.put("cc", strategy)

    def rcv_wnd(self, length: int | str | None) -> ChannelUriBuilder:
        """Set the initial window of receivers, in bytes, at most SO_RCVBUF."""
        return self.put("rcv-wnd", length)

    def nak_delay(self, delay: int | str | None) -> ChannelUriBuilder:
        """Set the time for which a unicast receiver waits before it sends a NAK."""
        return self._put_duration("nak-delay", delay)

    def media_rcv_ts_offset(self, offset: int | str | None) -> ChannelUriBuilder:
        """Set where the receive time of the kernel is stored: a payload offset in bytes, or `reserved`."""
        return self.put("media-rcv-ts-offset", offset)

    def channel_rcv_ts_offset(self, offset: int | str | None) -> ChannelUriBuilder:
        """Set where the receive time of the driver is stored: a payload offset in bytes, or `reserved`."""
        return self.put("channel-rcv-ts-offset", offset)

    # Publications and subscriptions

    def so_sndbuf(self, length: int | str | None) -> ChannelUriBuilder:
        """Set SO_SNDBUF in bytes, 0 for the operating system's default."""
        return self.put("so-sndbuf", length)

    def so_rcvbuf(self, length: int | str | None) -> ChannelUriBuilder:
        """Set SO_RCVBUF in bytes, 0 for the operating system's default."""
        return self.put("so-rcvbuf", length)

    def ats(self, enabled: bool | None) -> ChannelUriBuilder:
        """Set transport security; a driver that does not implement it rejects true."""
        return self.put("ats", enabled)

    def response_correlation_id(self, correlation_id: int | str | None) -> ChannelUriBuilder:
        """Set the id that connects requests with their responses.

        Of a request publication: the registration id of the subscription for its responses. Of a response
        publication: the correlation id of the request's image, or `prototype` to hold the socket before the first
        request arrives.
        """
        return self.put("response-correlation-id", correlation_id)

    def untethered_window_limit_timeout(self, timeout: int | str | None) -> ChannelUriBuilder:
        """Set how long an untethered subscriber may be at the window's limit before it is disconnected."""
        return self._put_duration("untethered-window-limit-timeout", timeout)

    def untethered_linger_timeout(self, timeout: int | str | None) -> ChannelUriBuilder:
        """Set how long an untethered subscriber lingers before it rests."""
        return self._put_duration("untethered-linger-timeout", timeout)

    def untethered_resting_timeout(self, timeout: int | str | None) -> ChannelUriBuilder:
        """Set how long an untethered subscriber rests before it may rejoin."""
        return self._put_duration("untethered-resting-timeout", timeout)

    def _put_duration(self, key: str, duration: int | str | None) -> ChannelUriBuilder:
        return self.put(key, format_duration_ns(duration) if isinstance(duration, int) else duration)
