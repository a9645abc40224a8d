"""Channels that a driver must accept, or refuse with the same code as any other driver."""

from __future__ import annotations

import re

from java_client import JavaClient, JavaPublication, JavaSubscription
from java_peer import JavaError
from our_client import OurClient, OurPublication, OurSubscription
from party_facts import own_address

from aeron_core.errors import RegistrationError

Client = JavaClient | OurClient
Resource = JavaPublication | JavaSubscription | OurPublication | OurSubscription

UDP, SPY, IPC = (
    "aeron:udp?endpoint=127.0.0.1:24321",
    "aeron-spy:aeron:udp?endpoint=127.0.0.1:24321",
    "aeron:ipc?",
)
OTHER = "aeron:udp?endpoint=127.0.0.1:24322"
MANUAL = "aeron:udp?control-mode=manual"
ANYWHERE = "aeron:udp?control-mode=response"
AT_CONTROL = f"{ANYWHERE}|control=127.0.0.1:24322"
AT_ENDPOINT = f"{UDP}|control-mode=response"
IPC_RESPONSES = "aeron:ipc?control-mode=response"

#: Existing resources, then the tested one: (kind, channel), all with one stream id.
CASES = [
    *(
        [("sub", f"{channel}|{key}={value}".replace("?|", "?"))]
        for channel in (UDP, SPY, IPC)
        for key, values in {
            "reliable": ("true", "false", "x"),
            "tether": ("true", "false", "x"),
            "rejoin": ("true", "false", "x"),
            "sparse": ("true", "false", "x"),
            "group": ("true", "infer", "x"),
            "session-id": ("5", "-1", "x", "99999999999"),
            "rcv-wnd": ("64k", "1m", "x"),
            "untethered-window-limit-timeout": ("1s", "x"),
            "untethered-linger-timeout": ("1s", "x"),
            "untethered-resting-timeout": ("1s", "x"),
            "alias": ("anything",),
            "tags": ("1", "1,2", "x"),
            "unknown": ("anything",),
        }.items()
        for value in values
    ),
    *(
        [("pub", f"{channel}|{key}={value}".replace("?|", "?"))]
        for channel in (UDP, IPC)
        for key, values in {
            "ssc": ("true", "false", "x"),
            "eos": ("true", "false", "x"),
            "linger": ("0", "1s", "x"),
            "sparse": ("true", "false", "x"),
            "session-id": ("5", "x", "tag:5", "tag:x"),
            "tags": ("1,2", "x", "1,x"),
            "untethered-window-limit-timeout": ("1s", "x"),
            "untethered-linger-timeout": ("1s", "x"),
            "untethered-resting-timeout": ("1s", "x"),
            "alias": ("anything",),
        }.items()
        for value in values
    ),
    [("sub", "aeron-spy:aeron:ipc")],
    [("pub", SPY)],
    [("sub", f"{SPY.removesuffix('4321')}0")],
    # Two resources that share a channel or a stream.
    *(
        [("sub", f"{UDP}|{key}=true"), ("sub", f"{UDP}|{key}={value}")]
        for key in ("reliable", "rejoin", "tether", "sparse")
        for value in ("true", "false")
    ),
    *(
        [("pub", f"{UDP}|ssc={one}"), ("pub", f"{UDP}|ssc={other}")]
        for one in ("true", "false")
        for other in ("true", "false")
    ),
    [("pub", f"{UDP}|session-id=5"), ("pub", f"{UDP}|session-id=6")],
    [("pub", f"{UDP}|session-id=5"), ("exclusive", f"{UDP}|session-id=5")],
    [("pub", f"{UDP}|eos=false"), ("pub", UDP)],
    [("pub", f"{UDP}|linger=1s"), ("pub", UDP)],
    # Tags.
    [("pub", "aeron:udp?tags=1")],
    [("pub", f"{UDP}|tags=1"), ("pub", "aeron:udp?tags=1")],
    [("pub", f"{UDP}|tags=1"), ("pub", f"{OTHER}|tags=1")],
    [("pub", f"{UDP}|tags=1"), ("pub", f"{UDP}|tags=2")],
    [("sub", f"{UDP}|tags=1"), ("sub", "aeron:udp?tags=1")],
    [("sub", f"{UDP}|tags=1"), ("sub", f"{OTHER}|tags=1")],
    [("sub", f"{UDP}|tags=1"), ("sub", f"{UDP}|tags=2")],
    [("sub", f"{MANUAL}|tags=1"), ("sub", "aeron:udp?tags=1")],
    [("sub", f"{UDP}|tags=1"), ("sub", f"{MANUAL}|tags=1")],
    [("pub", f"{UDP}|tags=1,7"), ("pub", f"{OTHER}|session-id=tag:7")],
    [("pub", f"{UDP}|tags=1,7"), ("pub", "aeron:ipc?session-id=tag:7")],
    [("pub", "aeron:ipc?tags=1,7"), ("pub", f"{OTHER}|session-id=tag:7")],
    [("pub", f"{UDP}|tags=1,7"), ("exclusive", f"{UDP}|session-id=tag:7")],
    [("pub", f"{UDP}|tags=1,7"), ("pub", f"{OTHER}|tags=2,7")],
    [("pub", f"{UDP}|so-sndbuf=64k"), ("pub", f"{UDP}|so-sndbuf=128k")],
    [("sub", f"{UDP}|so-rcvbuf=256k"), ("sub", f"{UDP}|so-rcvbuf=512k")],
    *(
        [(verb, f"{UDP}{one}"), (verb, f"{UDP}{other}")]
        for verb in ("pub", "sub")
        for one, other in (
            ("", "|so-rcvbuf=128k"),
            ("", "|so-rcvbuf=256k"),
            ("", "|so-sndbuf=128k"),
            ("|so-rcvbuf=128k", ""),
            ("|so-rcvbuf=256k", ""),
            ("|so-sndbuf=128k", ""),
        )
    ),
    # Destinations of subscriptions.
    [("sub", MANUAL), ("dest", UDP)],
    [("sub", MANUAL), ("dest", "aeron:ipc")],
    [("sub", MANUAL), ("dest", SPY)],
    [("sub", UDP), ("dest", OTHER)],
    [("sub", "aeron:ipc"), ("dest", OTHER)],
    [("sub", MANUAL), ("dest", UDP), ("dest", UDP)],
    [("sub", MANUAL), ("dest", "aeron:ipc"), ("dest", "aeron:ipc")],
    *(
        [("sub", MANUAL), ("dest", f"{UDP}|{option}")]
        for option in (
            "mtu=8k",
            "rcv-wnd=64k",
            "so-rcvbuf=64k",
            "so-sndbuf=64k",
            "response-correlation-id=1",
            "tags=5",
            "control-mode=response",
            "session-id=5",
        )
    ),
    [("sub", MANUAL), ("dest", "aeron:udp?mtu=8k")],
    [("sub", MANUAL), ("dest", "aeron:tcp?endpoint=127.0.0.1:1")],
    [("sub", MANUAL), ("undest", UDP)],
    [("sub", MANUAL), ("undest", "aeron:ipc")],
    [("sub", MANUAL), ("undest", SPY)],
    [("sub", MANUAL), ("dest", UDP), ("undest", UDP)],
    [("sub", MANUAL), ("dest", "aeron:ipc"), ("undest", "aeron:ipc")],
    [("sub", MANUAL), ("dest", SPY), ("undest", SPY)],
    [("sub", UDP), ("undest", UDP)],
    # Response channels. {sub}: registration id of the subscription, {image}: correlation id of its first image.
    *([("sub", channel)] for channel in (ANYWHERE, AT_CONTROL, AT_ENDPOINT, IPC_RESPONSES)),
    *([("sub", f"{channel}|session-id=5")] for channel in (AT_CONTROL, IPC_RESPONSES)),
    [("sub", f"aeron-spy:{AT_CONTROL}")],
    *(
        [(kind, f"{channel}{value and '|response-correlation-id='}{value}")]
        for kind in ("pub", "exclusive")
        for channel in (UDP, ANYWHERE, AT_CONTROL, AT_ENDPOINT, IPC_RESPONSES)
        for value in ("", "prototype", "77", "-1", "-2", "what", "1k")
    ),
    *(
        [("pub", f"{AT_CONTROL}|response-correlation-id=prototype|{key}")]
        for key in (
            "term-length=1m",
            "term-length=1",
            "term-length=1m|pub-wnd=256k",
            "mtu=8k",
            "session-id=5",
        )
    ),
    [("pub", f"{AT_CONTROL}|response-correlation-id=prototype")] * 2,
    [("pub", "aeron:udp?control=127.0.0.1:24322|response-correlation-id=prototype")],
    [("pub", f"{ANYWHERE}|tags=5|response-correlation-id=prototype")],
    [("pub", f"{AT_CONTROL}|tags=5|response-correlation-id=prototype"), ("pub", f"{UDP}|tags=5")],
    [
        ("pub", f"{AT_CONTROL}|tags=5|response-correlation-id=prototype"),
        ("pub", "aeron:udp?tags=5|control-mode=response|response-correlation-id=prototype"),
    ],
    [("pub", UDP), ("pub", f"{AT_ENDPOINT}|response-correlation-id=prototype")],
    [("pub", f"{AT_ENDPOINT}|response-correlation-id=prototype"), ("pub", UDP)],
    [("sub", f"{ANYWHERE}|tags=5")],
    [("sub", f"{ANYWHERE}|tags=5"), ("sub", f"{ANYWHERE}|tags=5")],
    [("sub", f"{UDP}|tags=5"), ("sub", f"{ANYWHERE}|tags=5")],
    [("sub", f"{AT_CONTROL}|tags=5"), ("sub", "aeron:udp?tags=5")],
    [("sub", ANYWHERE), ("pub", f"{UDP}|response-correlation-id={{sub}}")],
    [("sub", AT_CONTROL), ("pub", f"{UDP}|response-correlation-id={{sub}}")],
    [("sub", OTHER), ("pub", f"{UDP}|response-correlation-id={{sub}}")],
    [("sub", "aeron:ipc"), ("pub", f"{UDP}|response-correlation-id={{sub}}")],
    [("sub", IPC_RESPONSES), ("pub", f"{UDP}|response-correlation-id={{sub}}")],
    [("sub", AT_CONTROL), ("pub", "aeron:ipc?response-correlation-id={sub}")],
    [("sub", IPC_RESPONSES), ("pub", "aeron:ipc?response-correlation-id={sub}")],
    [("sub", UDP), ("pub", UDP), ("pub", f"{AT_CONTROL}|response-correlation-id={{image}}")],
    [("sub", "aeron:ipc"), ("pub", "aeron:ipc"), ("pub", f"{AT_CONTROL}|response-correlation-id={{image}}")],
    [
        ("sub", "aeron:ipc"),
        ("pub", "aeron:ipc"),
        ("pub", f"{IPC_RESPONSES}|response-correlation-id={{image}}"),
    ],
    *(
        [("sub", pair[0]), ("sub", pair[1])]
        for channel in (UDP, "aeron:udp?control=127.0.0.1:24322", "aeron:ipc", f"{UDP}|session-id=5")
        for response in [f"{channel}{'|' if '?' in channel else '?'}control-mode=response"]
        for pair in ((channel, response), (response, channel), (response, response))
    ),
    [("sub", MANUAL), ("dest", AT_CONTROL)],
    [("sub", MANUAL), ("dest", f"{UDP}|response-correlation-id=5")],
    [("sub", MANUAL), ("dest", f"aeron-spy:{AT_ENDPOINT}")],
    [("sub", MANUAL), ("dest", IPC_RESPONSES)],
    [("sub", MANUAL), ("dest", "aeron:ipc?response-correlation-id=5")],
    [("pub", MANUAL), ("send", AT_ENDPOINT)],
    [("pub", MANUAL), ("send", f"{UDP}|response-correlation-id=5")],
    [("pub", f"{AT_CONTROL}|response-correlation-id=prototype"), ("send", UDP)],
    [("sub", AT_CONTROL), ("dest", UDP)],
]


def answers(client: Client) -> dict[str, int]:
    """Return the response of a client's driver to each case: 0, or the code of the first refusal."""
    # Separate ports and tags per case: closed resources linger for a while.
    return {
        describe(case): play(client, [(kind, apart(channel, index)) for kind, channel in case])
        for index, case in enumerate(CASES)
    }


def describe(case: list[tuple[str, str]]) -> str:
    """Return a case as text."""
    return " then ".join(f"{kind} {channel}" for kind, channel in case)


def apart(channel: str, index: int) -> str:
    """Return a channel with ports and tags of one case alone, at an address of this process."""
    channel = channel.replace("127.0.0.1", own_address())
    channel = channel.replace(":24321", f":{20000 + 2 * index}").replace(":24322", f":{20001 + 2 * index}")
    return re.sub(r"(?<=tags=)\d+|(?<=tags=\d,)\d+|(?<=tag:)\d+", lambda found: f"{index}{found[0]}", channel)


def play(client: Client, case: list[tuple[str, str]]) -> int:
    """Return the response to the commands of one case: 0, or the code of the first refusal."""
    opened: list[Resource] = []
    try:
        for kind, channel in case:
            act(client, kind, channel, opened)
    except RegistrationError as error:
        return int(error.code)
    except JavaError as error:
        code = re.search(r"RegistrationException: .*errorCodeValue=(\d+)", str(error))
        if code is None:
            raise
        return int(code[1])
    finally:
        for resource in opened:
            resource.close()
    return 0


def act(client: Client, kind: str, channel: str, opened: list[Resource]) -> None:
    """Add a resource to those opened, or add or remove a destination of the last one."""
    subscriptions = [one for one in opened if isinstance(one, JavaSubscription | OurSubscription)]
    if "{sub}" in channel:
        channel = channel.replace("{sub}", str(subscriptions[-1].registration_id))
    if "{image}" in channel:
        channel = channel.replace("{image}", str(subscriptions[-1].await_images(1)[0].correlation_id))
    match kind:
        case "sub":
            opened.append(client.subscription(channel))
        case "pub":
            opened.append(client.publication(channel))
        case "exclusive":
            opened.append(client.publication(channel, kind="exclusive"))
        case "send" | "dest":
            opened[-1].add_destination(channel)
        case "undest":
            opened[-1].remove_destination(channel)
