"""Channels and streams of `ping` and `pong`, equal to those of the reference's samples."""

from __future__ import annotations

from typing import Annotated

import typer

from aeron_core.cli.options import int32

PING_CHANNEL = "aeron:udp?endpoint=localhost:20123"
PONG_CHANNEL = "aeron:udp?endpoint=localhost:20124"
PING_STREAM = 1002
PONG_STREAM = 1003

PingChannel = Annotated[str, typer.Option(metavar="CHANNEL", help="Channel from ping to pong.")]
PongChannel = Annotated[str, typer.Option(metavar="CHANNEL", help="Channel from pong to ping.")]
PingStream = Annotated[int, typer.Option(metavar="STREAM_ID", parser=int32, help="Stream from ping to pong.")]
PongStream = Annotated[int, typer.Option(metavar="STREAM_ID", parser=int32, help="Stream from pong to ping.")]
