"""A web server that streams a subscription to browsers, by server-sent events and by WebSocket.

    python examples/web/app.py          # then open http://127.0.0.1:8000

One subscription serves all browsers, each through a short queue of its own: a slow browser misses prices, and does not
hold up the others, nor the publisher. A media driver and a market that publishes run in this process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from types import FrameType

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

import aeron_core
from aeron_core import aio

CHANNEL, STREAM_ID = "aeron:ipc", 1001
INTERVAL_S = 0.1
PAGE = Path(__file__).parent / "page.html"
PRICES = {"AMBR": 12.75, "CORK": 3.1, "FLAX": 48.02, "TEAK": 107.5}
QUEUE_LENGTH = 100


class Broadcast:
    """Hands each text to the queues of all browsers."""

    def __init__(self) -> None:
        self.is_over = False
        self._queues: set[asyncio.Queue[str]] = set()

    async def texts(self) -> AsyncGenerator[str]:
        """Yield the texts for one browser until the server stops."""
        queue = asyncio.Queue[str](QUEUE_LENGTH)
        self._queues.add(queue)
        try:
            while not self.is_over:
                try:
                    text = await asyncio.wait_for(queue.get(), timeout=0.5)
                except TimeoutError:
                    continue
                yield text
        finally:
            self._queues.remove(queue)

    def put(self, text: str) -> None:
        for queue in self._queues:
            if queue.full():
                queue.get_nowait()  # the oldest price is worth least
            queue.put_nowait(text)


broadcast = Broadcast()


async def publish(publication: aeron_core.Publication) -> None:
    """Publish a price of each share about every tenth of a second."""
    prices = dict(PRICES)
    while True:
        for symbol, price in prices.items():
            prices[symbol] = price * (1 + random.gauss(0, 0.001))
            message = {"symbol": symbol, "price": round(prices[symbol], 3)}
            await aio.async_offer(publication, json.dumps(message).encode())
        await asyncio.sleep(INTERVAL_S)


async def receive(subscription: aeron_core.Subscription) -> None:
    """Pass messages to the browsers, each with its position in the stream."""
    async for message in aio.messages(subscription):
        broadcast.put(json.dumps(json.loads(message.data) | {"position": message.position}))


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncGenerator[None]:
    """Run the driver, the market and the receiver while the server runs."""
    with aeron_core.MediaDriver.launch_embedded() as driver, aeron_core.connect(driver.aeron_dir) as aeron:
        subscription = await aio.add_subscription(aeron, CHANNEL, STREAM_ID)
        publication = await aio.add_publication(aeron, CHANNEL, STREAM_ID)
        tasks = [asyncio.create_task(receive(subscription)), asyncio.create_task(publish(publication))]
        yield
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def page(request: Request) -> FileResponse:
    return FileResponse(PAGE)


async def events(request: Request) -> StreamingResponse:
    """Stream server-sent events: text, one direction, and the browser connects again by itself."""
    stream = (f"data: {text}\n\n" async for text in broadcast.texts())
    return StreamingResponse(stream, media_type="text/event-stream", headers={"Cache-Control": "no-store"})


async def socket(websocket: WebSocket) -> None:
    """Stream the same by WebSocket, limited to the symbol that the browser sends; an empty one means all."""
    await websocket.accept()
    chosen = ""

    async def choose() -> None:
        nonlocal chosen
        while True:
            chosen = await websocket.receive_text()

    choosing = asyncio.create_task(choose())
    try:
        async with aclosing(broadcast.texts()) as texts:
            with suppress(WebSocketDisconnect):
                async for text in texts:
                    if choosing.done():
                        break
                    if json.loads(text)["symbol"].startswith(chosen):
                        await websocket.send_text(text)
    finally:
        choosing.cancel()
        await asyncio.gather(choosing, return_exceptions=True)


class Server(uvicorn.Server):
    """Ends the streams before it waits for the end of all connections."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        broadcast.is_over = True
        super().handle_exit(sig, frame)


app = Starlette(
    routes=[Route("/", page), Route("/events", events), WebSocketRoute("/socket", socket)], lifespan=lifespan
)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Stream a subscription to browsers.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, help="port to listen on (default: 8000)")
    chosen = parser.parse_args(arguments)

    print(f"open http://{chosen.host}:{chosen.port}, Ctrl-C ends", flush=True)
    config = uvicorn.Config(
        app,
        host=chosen.host,
        port=chosen.port,
        log_level="warning",
        timeout_graceful_shutdown=2,  # a browser that does not read must not hold up the end
    )
    Server(config).run()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
