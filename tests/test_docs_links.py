"""External links of the documentation, as `make links` checks them, on pages that link to a server of this test."""

import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.system


class Handler(BaseHTTPRequestHandler):
    """Has one page."""

    def do_GET(self):
        self.send_response(200 if self.path == "/there" else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_HEAD(self):
        self.do_GET()

    def log_message(self, *arguments):
        """Print nothing."""


@pytest.fixture
def address():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def check(folder, text):
    """Run the command of `make links` for a page; return its exit code and its errors."""
    (folder / "docs").mkdir()
    (folder / "docs" / "_toc.yml").write_text("root: index\n", encoding="utf-8")
    (folder / "docs" / "index.md").write_text(f"# A page\n\n{text}\n", encoding="utf-8")
    recipe = subprocess.run(
        ["make", "--dry-run", "links"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    [arguments] = re.findall(r"^\S+/python -m sphinx (.*) docs build/links$", recipe, re.MULTILINE)
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *arguments.split(), "-c", ROOT / "docs", "docs", "links"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def test_links_that_lead_somewhere_are_accepted(tmp_path, address):
    assert check(tmp_path, f"[there]({address}/there)") == (0, "")


def test_a_link_that_leads_nowhere_is_reported_with_its_page(tmp_path, address):
    code, errors = check(tmp_path, f"[there]({address}/there)\n\n[gone]({address}/gone)")

    assert code == 1
    assert re.findall(r"(\w+\.md):(\d+): WARNING: broken link: (\S+)", errors) == [
        ("index.md", "5", f"{address}/gone")
    ]
