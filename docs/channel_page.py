"""Reference page of channel URIs: all keys that the driver reads, as `aeron_core.uri.keys` has them."""

from __future__ import annotations

from collections.abc import Iterator

from aeron_core.uri.keys import CHANNEL_KEYS

#: Where a key is valid (P publication, S subscription, D destination), its values with the default first, meaning.
ROWS = {
    "endpoint": ("P S D, udp", "`host:port`", "address of the receivers: unicast, or a multicast group"),
    "interface": (
        "P S D, udp",
        "any; `address[:port][/prefix]`, `{name}[:port]`",
        "local interface for sending and receiving",
    ),
    "control": (
        "P S D, udp",
        "`host:port`",
        "control address: the publication sends from it and receives status messages on it",
    ),
    "control-mode": (
        "P S, udp; S, ipc",
        "none; `manual`, `dynamic`, `response`",
        "source of the destinations of a publication or subscription: `manual` added by the client, `dynamic` by "
        "status messages, `response` see [response channels](../how-to/response-channels.md)",
    ),
    "tags": (
        "all",
        "none; `channel[,entity]`",
        "numbers by which [other channels refer to this one](../how-to/channel-and-session-tags.md)",
    ),
    "alias": ("all", "any text", "a display name for tools; drivers ignore it"),
    "session-id": (
        "P S",
        "chosen by the driver; a number, `tag:n`",
        "session id of a publication, or the only one that a subscription receives; `tag:n` uses that of the "
        "publication with that entity tag, with its `mtu` and `term-length`",
    ),
    "stream-id": ("all", "a number", "for tools and archives; drivers ignore it"),
    "term-length": ("P", "16m, of ipc 64m; a power of two, 64k to 1g", "length of a term"),
    "init-term-id": ("P", "random; a number", "first term id; requires the two keys below"),
    "term-id": ("P", "a number", "term id to start in"),
    "term-offset": ("P", "a multiple of 32, at most the term length", "offset in that term to start at"),
    "mtu": ("P", "1408; a multiple of 32, 64 to 65504", "maximum length of a datagram, header included"),
    "pub-wnd": (
        "P",
        "half a term; from `mtu` to half a term",
        "bytes that a publisher may be ahead of its slowest consumer",
    ),
    "linger": ("P", "5s; a duration", "time that a closed publication is kept for retransmits"),
    "eos": ("P", "true; `true`, `false`", "signal the end of the stream to receivers"),
    "sparse": ("P S", "true; `true`, `false`", "create the log buffer as a sparse file"),
    "max-resend": ("P, udp", "16; 1 to 256", "maximum number of active retransmits"),
    "fc": (
        "P, udp",
        "`max`; `max[,rrwm:n]`, `min[,g:/n][,t:duration][,rrwm:n][,proof:true]`, "
        "`tagged,g:tag[/n][,t:duration][,rrwm:n][,proof:true]`, "
        "a plugin's name and options",
        "flow control of a group of receivers: the fastest, the slowest, or the slowest with the tag; at least `n` "
        "receivers, each dropped after a silence of `t`; a NAK may request at most `rrwm` windows; `proof`: only "
        "receivers at an address that is not forged",
    ),
    "ssc": ("P", "false; `true`, `false`", "spies simulate connection: a spy alone connects the publication"),
    "response-correlation-id": (
        "P",
        "none; a number, `prototype`",
        "of a request: the subscription for its responses; of a response: the request image",
    ),
    "reliable": (
        "S, udp",
        "true; `true`, `false`",
        "request lost frames again; otherwise gaps are filled with padding",
    ),
    "group": (
        "S, udp",
        "inferred; `true`, `false`",
        "whether there are other receivers, so that NAKs are delayed to avoid duplicates",
    ),
    "rejoin": ("S", "true; `true`, `false`", "rejoin a stream after its image became unavailable"),
    "tether": (
        "S",
        "true; `true`, `false`",
        "whether publishers wait for this subscriber; see [untethered "
        "subscriptions](../how-to/untethered-subscriptions.md)",
    ),
    "untethered-window-limit-timeout": (
        "P S",
        "5s; a duration",
        "time that an untethered subscriber may be behind before it is detached",
    ),
    "untethered-linger-timeout": (
        "P S",
        "as above; a duration",
        "time that its image is then kept to be drained",
    ),
    "untethered-resting-timeout": ("P S", "10s; a duration", "time until it may rejoin"),
    "rcv-wnd": ("S, udp", "128k; a size", "receiver window, limited to half a term and to `so-rcvbuf`"),
    "cc": (
        "S, udp",
        "`static`; `static`, `cubic`, a plugin's name",
        "congestion control; an unknown name is refused when the subscription is added (the reference fails at each "
        "image)",
    ),
    "gtag": ("S, udp", "none; a number", "group tag in status messages, for `fc=tagged`"),
    "nak-delay": (
        "S, udp",
        "the driver's; a duration",
        "delay of a NAK after a gap is detected; ignored in a group, whose receivers wait for random times",
    ),
    "security": (
        "P S D, udp",
        "none; a name of `security_profiles`",
        "seal all datagrams by a [security profile](../how-to/secure-channels.md) of the driver; the same for all "
        "channels of an endpoint",
    ),
    "so-sndbuf": ("P S, udp", "the driver's; a size", "SO_SNDBUF of the sockets"),
    "so-rcvbuf": ("P S, udp", "the driver's; a size", "SO_RCVBUF of the sockets"),
    "ttl": ("P S D, udp", "the driver's; 0 to 255", "multicast TTL"),
    "media-rcv-ts-offset": (
        "S, udp",
        "off; `reserved`, an offset in the payload",
        "receive timestamp of the kernel",
    ),
    "channel-rcv-ts-offset": (
        "S, udp",
        "off; `reserved`, an offset in the payload",
        "receive timestamp of the driver",
    ),
    "channel-snd-ts-offset": (
        "P, udp",
        "off; `reserved`, an offset in the payload",
        "send timestamp of the driver",
    ),
    "ats": ("P S, udp", "false; `false`", "encryption of the commercial build; `true` is refused"),
}

#: Input that is accepted as by the reference although it may be a mistake, and its equivalent. A test parses both.
LENIENT = {
    "ttl=999": (
        "ttl=255",
        "values above 255 are clamped to 255; values below 0 are refused (the reference uses 255)",
    ),
    "control-mode=dynamc": ("", "an unknown mode is ignored"),
    "group=maybe": ("group=false", "every value except `true` and `infer` is `false`"),
    "linger=5": ("linger=5ns", "a number without a unit is nanoseconds, in all durations"),
    "session-id=5|session-id=6": (
        "session-id=5",
        "the first of two equal keys is used; of `endpoint`, `interface`, `control`, `control-mode`, `tags` and "
        "`ttl` the last",
    ),
    "gtag=": ("", "a key without a value is ignored at the end of the channel; elsewhere it is refused"),
    "mtu": ("", "likewise a key without `=`"),
    "mut=8k": ("", "unknown keys are ignored, and [reported](#unknown-keys)"),
}


def channels_page() -> Iterator[str]:
    """Yield the reference page of channel URIs; raise ValueError if a key has no row, or a row no key."""
    if ROWS.keys() != CHANNEL_KEYS:
        raise ValueError(f"keys and rows differ: {', '.join(sorted(ROWS.keys() ^ CHANNEL_KEYS))}")
    yield "# Channels\n"
    yield (
        "`aeron:udp?key=value|key=value`, `aeron:ipc`, `aeron-spy:aeron:udp?…`, or the medium of a plugin. As in "
        "the reference, unknown keys are ignored; they are [reported](#unknown-keys). [Sizes and durations]"
        "(settings.md#sizes-and-durations) may be written `64k` and `100ms`. Build channels in code with "
        "`ChannelUriBuilder`.\n"
    )
    yield "P: publication. S: subscription. D: destination of one of them.\n"
    yield "| key | where | values, the default first | meaning |\n|---|---|---|---|"
    for key, (where, allowed, meaning) in ROWS.items():
        yield f"| `{key}` | {where} | {allowed} | {meaning} |"
    yield ""
    yield "## Accepted mistakes\n"
    yield (
        "A channel is refused if a value cannot be parsed or is out of range. The following are accepted, as in the "
        "reference:\n"
    )
    yield "| written | equivalent | reason |\n|---|---|---|"
    for written, (same, reason) in LENIENT.items():
        yield f"| `{written.replace('|', chr(92) + '|')}` | {f'`{same}`' if same else 'omitted'} | {reason} |"
    yield ""
    yield (
        "- `fc=max`, `min` and `tagged` on a unicast channel are ignored with all their options, since there is "
        "no group. "
        "The driver's rule for one receiver is used.\n"
        "- `fc=min,g:1`: 1 is a tag, which `min` ignores. To wait for one receiver, write `g:/1`.\n"
        "- `fc=min,t:5`: 5 ns, so a receiver is dropped before its next status message. Write `t:5s`.\n"
        "- `rcv-wnd=1`: the subscription is added, because the `mtu` of publications is not known yet. A publication "
        "with an `mtu` above the window gets no image; the error log (`aeron-core errors`) reports it.\n"
    )
    yield "## Unknown keys\n"
    yield (
        "A channel with a key that is neither on this page nor on the page of its medium is accepted: a driver of "
        "another version may have that key. The key is reported, with the most similar known one if there is one: "
        "`unknown channel key mtuu: did you mean mtu?`\n\n"
        "- Commands print it as a warning before they connect to the driver.\n"
        "- The driver records it in its error log when a publication, subscription or destination is added: one entry "
        "for each medium and key, with the number of observations, for at most 8 keys of a channel and 64 keys in "
        "all. The system counter `Errors` does not count it, since it is no error.\n"
    )
