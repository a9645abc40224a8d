"""Socket buffers: checks that the send buffer can hold a frame of the MTU, and the receive buffer the initial window.

Source: aeron_driver_uri.c (aeron_publication_params_validate_mtu), aeron_driver_conductor.c
(aeron_driver_conductor_validate_initial_window_for_rcvbuf).
"""

from __future__ import annotations

from aeron_core.errors import ChannelUriError, ErrorCode
from aeron_core.frozen import frozen
from aeron_core.uri.channel_uri import ChannelUri


@frozen(slots=True)
class SocketBuffer:
    """Lengths that sources give for one buffer of a socket, in bytes; 0 if a source gives none."""

    channel_length: int
    default_length: int  # of the driver's settings
    existing: ChannelUri | None = None  # URI that opened the endpoint, if another one did
    os_default_length: int = 0  # used if no other source has a length; if it is 0 too, nothing is checked

    @property
    def scope(self) -> str:
        """The channels that must be changed together, for the end of a remedy: empty if there is only one."""
        return "" if self.existing is None else " of all channels of the endpoint"

    def describe(self, uri: ChannelUri) -> str:
        """Return the text of a message with `uri`, and the URI that opened the endpoint if that is another one."""
        return f"channel={uri}" if self.existing is None else f"existingChannel={self.existing} channel={uri}"


def check_mtu_fits_socket(uri: ChannelUri, mtu: int, sndbuf: SocketBuffer) -> None:
    """Raise ChannelUriError if the send buffer has a known length that is less than the MTU; not for IPC."""
    if uri.is_ipc:
        return
    existing_length = 0
    if sndbuf.existing is not None:
        existing_length = sndbuf.existing.get_size("so-sndbuf", 0) or sndbuf.default_length
    lengths = {
        "endpoint": existing_length,
        "channel": sndbuf.channel_length,
        "context": sndbuf.default_length,
        "os default": sndbuf.os_default_length,
    }
    where, length = next(((name, length) for name, length in lengths.items() if length), ("", 0))
    if length and length < mtu:
        raise ChannelUriError(
            f"MTU greater than SO_SNDBUF for {where}: mtu={mtu} so-sndbuf={length} "
            f"{sndbuf.describe(uri)}: mtu must be at most so-sndbuf: lower mtu or raise so-sndbuf{sndbuf.scope}",
            ErrorCode.GENERIC_ERROR,
        )


def check_window_fits_socket(uri: ChannelUri, window_length: int, rcvbuf: SocketBuffer) -> None:
    """Raise ChannelUriError if the receive buffer has a known length below the window; not for IPC or spies."""
    if uri.is_ipc or uri.is_spy:
        return
    length = rcvbuf.channel_length or rcvbuf.default_length
    limit = length or rcvbuf.os_default_length
    if limit and limit < window_length:
        # The text of the reference: 0 stands for the length that the operating system chooses.
        shown = length or "0 (OS default)"
        allowed = "so-rcvbuf" if length else f"the {limit} bytes that the operating system gives"
        raise ChannelUriError(
            f"Initial window greater than SO_RCVBUF for channel: rcv-wnd={window_length} "
            f"so-rcvbuf={shown} {rcvbuf.describe(uri)}: rcv-wnd must be at most {allowed}: "
            f"lower rcv-wnd or raise so-rcvbuf{rcvbuf.scope}",
            ErrorCode.GENERIC_ERROR,
        )
