"""The reference of channel URIs; a test compares its keys with those of `ChannelUriBuilder`."""

from __future__ import annotations

from collections.abc import Iterator

#: Who may state it (P publication, S subscription, D destination), values with the default first, and meaning.
CHANNEL_KEYS = {
    "endpoint": ("P S D, udp", "`host:port`", "where receivers listen: one address, or a multicast group"),
    "interface": (
        "P S D, udp",
        "any; `address[:port][/prefix]`, `{name}[:port]`",
        "local interface to send from and to receive on",
    ),
    "control": ("P S D, udp", "`host:port`", "where a publication sends from and hears its receivers"),
    "control-mode": (
        "P S, udp; S, ipc",
        "none; `manual`, `dynamic`, `response`",
        "how the destinations of a publication, or the sources of a subscription, are known",
    ),
    "tags": ("all", "none; `channel[,entity]`", "numbers by which other channels refer to this one"),
    "alias": ("all", "any text", "a name for people and tools; drivers ignore it"),
    "session-id": (
        "P S",
        "chosen by the driver; a number, `tag:n`",
        "session of a publication, or the one that a subscription wants; `tag:n` takes that of a publication "
        "with that entity tag, with its `mtu` and `term-length`",
    ),
    "stream-id": ("all", "a number", "for tools and archives; drivers ignore it"),
    "term-length": ("P", "16m, of ipc 64m; a power of two, 64k to 1g", "length of a term"),
    "init-term-id": ("P", "random; a number", "first term; only together with the two below"),
    "term-id": ("P", "a number", "term to start in"),
    "term-offset": ("P", "a multiple of 32, at most the term length", "where in that term to start"),
    "mtu": ("P", "1408; a multiple of 32, 64 to 65504", "longest datagram, header included"),
    "pub-wnd": (
        "P",
        "half a term; from `mtu` to half a term",
        "how far a publisher may be ahead of its readers",
    ),
    "linger": ("P", "5s; a duration", "how long a publication stays for retransmits after its end"),
    "eos": ("P", "true; `true`, `false`", "tell receivers where the stream ends"),
    "sparse": ("P S", "true; `true`, `false`", "make the log without taking its room at once"),
    "max-resend": ("P, udp", "16; 1 to 256", "retransmits under way at once"),
    "fc": (
        "P, udp",
        "`max`; `max[,rrwm:n]`, `min[,g:/n][,t:duration][,rrwm:n]`, `tagged,g:tag[/n][,t:duration][,rrwm:n]`, "
        "a plugin's name and options",
        "flow control of a group of receivers: the fastest, the slowest, or the slowest with the tag; at least `n` "
        "of them, each forgotten after a silence of `t`; a NAK may have `rrwm` windows sent again",
    ),
    "ssc": ("P", "false; `true`, `false`", "connected with spies alone"),
    "response-correlation-id": (
        "P",
        "none; a number, `prototype`",
        "the subscription that a request wants its response on, or the image that a response answers",
    ),
    "reliable": (
        "S, udp",
        "true; `true`, `false`",
        "ask for what was lost; else the gap is filled with padding",
    ),
    "group": (
        "S, udp",
        "inferred; `true`, `false`",
        "whether others receive the same, so that NAKs are delayed and may be spared",
    ),
    "rejoin": ("S", "true; `true`, `false`", "receive a stream again that has gone"),
    "tether": ("S", "true; `true`, `false`", "whether publishers wait for this subscriber"),
    "untethered-window-limit-timeout": (
        "P S",
        "5s; a duration",
        "how long it may stand still before it is let go",
    ),
    "untethered-linger-timeout": (
        "P S",
        "as above; a duration",
        "how long its image then stays to be drained",
    ),
    "untethered-resting-timeout": ("P S", "10s; a duration", "how long before it may join again"),
    "rcv-wnd": ("S, udp", "128k; a size", "receiver window: at most half a term and `so-rcvbuf`"),
    "cc": (
        "S, udp",
        "`static`; `static`, `cubic`, a plugin's name",
        "congestion control; a name that is not installed is refused at once, by the reference for each image",
    ),
    "gtag": ("S, udp", "none; a number", "group tag in status messages, for `fc=tagged`"),
    "nak-delay": ("S, udp", "at once; a duration", "how long a gap may last before it is asked for"),
    "so-sndbuf": ("P S, udp", "of the driver; a size", "SO_SNDBUF of the sockets"),
    "so-rcvbuf": ("P S, udp", "of the driver; a size", "SO_RCVBUF of the sockets"),
    "ttl": ("P S D, udp", "of the driver; 0 to 255", "hops of multicast"),
    "media-rcv-ts-offset": (
        "S, udp",
        "off; `reserved`, an offset in the payload",
        "kernel's time of reception",
    ),
    "channel-rcv-ts-offset": (
        "S, udp",
        "off; `reserved`, an offset in the payload",
        "driver's time of reception",
    ),
    "channel-snd-ts-offset": (
        "P, udp",
        "off; `reserved`, an offset in the payload",
        "driver's time of sending",
    ),
    "ats": ("P S, udp", "false; `false`", "encryption of a commercial build: `true` is refused"),
}

#: What the reference takes, and so do we, though it may be a mistake; and the same without it. A test parses both.
LENIENT = {
    "ttl=999": ("ttl=255", "more than 255 is 255; less than 0 we refuse, and the reference takes it for 255"),
    "control-mode=dynamc": ("", "a mode that nobody knows is none"),
    "group=maybe": ("group=false", "all but `true` and `infer` is `false`"),
    "linger=5": ("linger=5ns", "a number alone is nanoseconds, in all durations"),
    "session-id=5|session-id=6": (
        "session-id=5",
        "of a key that comes twice the first counts; of `endpoint`, `interface`, `control`, `control-mode`, `tags` "
        "and `ttl` the last",
    ),
    "gtag=": ("", "a key without a value is none at the end of the channel; elsewhere it is refused"),
    "mtu": ("", "so is one without `=`"),
    "mut=8k": ("", "keys that nobody knows"),
}


def channels_page() -> Iterator[str]:
    """Yield the reference of channel URIs."""
    yield "# Channels\n"
    yield (
        "`aeron:udp?key=value|key=value`, `aeron:ipc`, `aeron-spy:aeron:udp?…`, or another medium of a plugin. Keys "
        "that a driver does not know it ignores, as the reference does. Sizes take `64k`, `16m`, `1g`; durations "
        "take `ns`, `us`, `ms`, `s`. `ChannelUriBuilder` writes them.\n"
    )
    yield "P: publication. S: subscription. D: destination of one of them.\n"
    yield "| key | where | values, the default first | meaning |\n|---|---|---|---|"
    for key, (where, allowed, meaning) in CHANNEL_KEYS.items():
        yield f"| `{key}` | {where} | {allowed} | {meaning} |"
    yield ""
    yield "## What is taken without a word\n"
    yield (
        "A channel is refused where a value cannot be read or is out of its range. These are taken, as the reference "
        "takes them:\n"
    )
    yield "| written | counts as | because |\n|---|---|---|"
    for written, (same, reason) in LENIENT.items():
        yield f"| `{written.replace('|', chr(92) + '|')}` | {f'`{same}`' if same else 'left out'} | {reason} |"
    yield ""
    yield (
        "- `fc=max`, `min` and `tagged` of a channel with one receiver: whatever their options say, they are not read, "
        "since there is no group. The driver's own rule for one receiver is used.\n"
        "- `fc=min,g:1`: 1 is a tag, which `min` does not look at. To wait for one receiver, write `g:/1`.\n"
        "- `fc=min,t:5`: 5 ns, so that a receiver is forgotten before its next message. Write `t:5s`.\n"
        "- `rcv-wnd=1`: the subscription is added, since the `mtu` of publications is not known yet. One with an `mtu` "
        "above the window gets no image; the error log (`aeron-core errors`) says so.\n"
    )
