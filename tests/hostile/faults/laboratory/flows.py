"""Streams of the system: their clients and channels."""

from __future__ import annotations

from laboratory.credentials import PROFILE, Credentials
from laboratory.plan import UDP_CHANNELS, Plan

IPC = "aeron:ipc"
LUMBERJACK = "aeron:lumberjack?endpoint=right:5044"
SP = "aeron:sp?endpoint=right:7000"
#: Time after which SP gives up a peer that has vanished. More than TCP may need to repeat data after a cut, since SP
#: loses what an ended connection has not delivered.
PEER_TIMEOUT_S = 20
STREAM = {"udp": 1001, "ipc": 2001, "lumberjack": 3001, "sp": 4001, "sealed": 5001}
#: Messages a second of each publisher.
RATE = {"udp": 150, "ipc": 150, "lumberjack": 100, "sp": 100, "sealed": 100}
FLOWS = {
    "udp": ("udp-publisher", "udp-subscriber"),
    "ipc": ("ipc-publisher", "ipc-subscriber"),
    "lumberjack": ("lumberjack-writer", "lumberjack-reader"),
    "sp": ("sp-dialer", "sp-listener"),
    "sealed": ("sealed-publisher", "sealed-subscriber"),
}
RECORDED = {"recorder-left": "ipc-publisher", "recorder-right": "udp-publisher"}
#: What a sealed channel has instead of the addresses of the plain one.
OTHER_ADDRESSES = {":20121": ":20131", ":20122": ":20132", "224.0.1.79": "224.0.1.81"}


def channels_of(plan: Plan, credentials: Credentials) -> dict[str, tuple[str, str]]:
    """Return the channels of the publisher and of the subscriber of each flow."""
    media = plan.media
    silence = f"term-length=256k|peer-timeout={PEER_TIMEOUT_S}s"
    lumberjack_from, lumberjack_to, sp_from, sp_to = (
        "",
        "",
        f"|transport={media.sp}",
        f"|transport={media.sp}",
    )
    if media.lumberjack == "tls":
        lumberjack_from, lumberjack_to = f"|tls=true{credentials.client}", f"|tls=true{credentials.server}"
    if media.sp in ("tls", "wss"):
        sp_from, sp_to = sp_from + credentials.client, sp_to + credentials.server
    sealed_from, sealed_to = (sealed(channel) for channel in UDP_CHANNELS[media.sealed])
    return {
        "udp": UDP_CHANNELS[plan.udp],
        "ipc": (IPC, IPC),
        "lumberjack": (
            f"{LUMBERJACK}|timeout=5s|backoff-init=200ms|backoff-max=1s{lumberjack_from}",
            f"{LUMBERJACK}|term-length=256k|keep-alive=1s{lumberjack_to}",
        ),
        "sp": (f"{SP}|mode=dial|{silence}|backoff-max=1s{sp_from}", f"{SP}|mode=listen|{silence}{sp_to}"),
        "sealed": (sealed_from, sealed_to),
    }


def sealed(channel: str) -> str:
    """Return a channel with other addresses that is sealed."""
    for plain, other in OTHER_ADDRESSES.items():
        channel = channel.replace(plain, other)
    return f"{channel}|security={PROFILE}"
