"""The command `aeron-core dashboard`: a history behind TLS and a token, and how it ends."""

import asyncio
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import trustme
from observed import records_of, snapshot
from pages import part, row_of

pytest.importorskip("playwright")
pytest.importorskip("nicegui")

from playwright.sync_api import expect

from aeron_core.cli.dashboard import server as dashboard_server
from aeron_core.cli.dashboard.access import access_of, client_context
from aeron_core.cli.dashboard.remote import RemoteSource
from aeron_core.observation import CounterHistoryWriter

pytestmark = pytest.mark.system
# Milliseconds, far above the slowest update on a loaded machine.
expect.set_options(timeout=60_000)


@pytest.fixture
def certificate(tmp_path):
    """The file of a certificate with its key; that of its authority is beside it."""
    path, authority = tmp_path / "server.pem", trustme.CA()
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(path)
    authority.cert_pem.write_to_path(path.with_name("ca.pem"))
    return path


def test_components_insert_texts_only():
    sources = {
        path.name: path.read_text()
        for path in (Path(dashboard_server.__file__).parent / "components").glob("*.js")
    }

    assert len(sources) == 4
    for source in sources.values():
        assert not re.search(
            r"v-html|innerHTML|outerHTML|insertAdjacentHTML|setHTML|\beval\b|Function\(|\.write\(", source
        )


def test_a_history_is_played_behind_tls_and_a_token(browser, start, tmp_path, certificate):
    pytest.importorskip("pyarrow")
    path, token = tmp_path / "h.arrows", "a-token-of-this-test"
    with CounterHistoryWriter(path) as writer:
        for s in range(5):
            writer.write(
                snapshot(*records_of("aeron:ipc", pub_pos=1_000 * s, pub_lmt=9_000, ipc_sub=0), at_s=s)
            )
    (tmp_path / "token").write_text(token)
    (tmp_path / "token").chmod(0o600)
    options = ["--listen", "0.0.0.0:0", "--token-file", tmp_path / "token", "--tls-cert", certificate]
    process = start("dashboard", path, *options)
    url = process.popen.stderr.readline().removeprefix("aeron-core: dashboard at ").strip()
    assert url.startswith("https://0.0.0.0:"), url
    url = url.replace("0.0.0.0", "127.0.0.1")

    with browser.new_context(ignore_https_errors=True) as context:
        assert context.request.get(f"{url}snapshots").status == 401
        shown = context.new_page()
        shown.goto(url)
        shown.get_by_label("Token").fill(token)
        shown.keyboard.press("Enter")
        expect(part(shown, "player")).to_contain_text("snapshot 1 of 5")
        shown.get_by_role("slider").focus()
        shown.keyboard.press("End")
        expect(part(shown, "player")).to_contain_text("snapshot 5 of 5, 4 of 4 s")
        assert row_of(shown, 1001, "ipc")["publisher"] == "4,000"
        (cookie,) = context.cookies()
        assert cookie["httpOnly"]
        assert cookie["secure"]
        assert cookie["sameSite"] == "Strict"

    source = RemoteSource(url, token, client_context(certificate.with_name("ca.pem")))
    source.read()
    # A history has no driver of this machine.
    assert (source.problem, source.drivers) == ("", ())
    stranger = RemoteSource(url, token, client_context(None))
    stranger.read()
    assert "certificate verify failed" in stranger.problem

    process.popen.terminate()
    assert process.ended().code == 0


def test_a_tls_handshake_that_does_not_begin_is_ended(certificate, monkeypatch):
    monkeypatch.setattr(dashboard_server, "REQUEST_LIMIT_S", 0.1)

    async def serve():
        loop, tls = asyncio.get_running_loop(), access_of("127.0.0.1:0", None, certificate, None).tls
        server = await loop.create_server(asyncio.Protocol, "127.0.0.1", 0, ssl=tls)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        async with asyncio.timeout(30):
            assert await reader.read() == b""
        writer.close()
        server.close()

    def run():
        with asyncio.Runner(loop_factory=dashboard_server.LimitedLoop) as runner:
            runner.run(serve())

    # In a thread of its own: that of the test has the loop of Playwright.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(run).result()


def test_a_fault_of_the_feed_ends_the_command():
    """A page that stands still without a reason would be worse than none."""
    program = """if True:
        from aeron_core.cli.dashboard import feed
        from aeron_core.cli.main import run
        feed.LiveFeed.read = lambda _: 1 / 0
        raise SystemExit(run(["dashboard", "--listen", "127.0.0.1:0"]))
    """

    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )

    assert ended.returncode == 1
    assert "ZeroDivisionError" in ended.stderr
    assert "the server of the page has stopped" in ended.stderr
