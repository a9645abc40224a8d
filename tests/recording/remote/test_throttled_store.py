"""An object store that throttles: requests are repeated before an upload fails."""

import http.server
import threading

import pytest

pytest.importorskip("pyarrow")

from aeron_core.recording.storage.arrow_store import open_store

SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>"
BEGUN = b"<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>"
DONE = b"<CompleteMultipartUploadResult><ETag>1</ETag></CompleteMultipartUploadResult>"

pytestmark = pytest.mark.system


class Throttling(http.server.BaseHTTPRequestHandler):
    """Answers the first requests that write with 503."""

    def do_PUT(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._answer(b"")

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._answer(BEGUN if "uploads" in self.path else DONE)

    def do_HEAD(self):
        # The bucket exists, and nothing in it.
        self.send_response(200 if self.path == "/bucket" else 404)
        self.end_headers()

    def log_message(self, *_):
        pass

    def _answer(self, body):
        self.server.refused -= self.server.refused > 0
        if is_refused := self.server.refused > 0:
            body = SLOW_DOWN
        self.send_response(503 if is_refused else 200)
        self.send_header("ETag", '"1"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Throttling) as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def test_a_throttled_request_is_repeated(server):
    server.refused = 6  # the last one is accepted
    address = f"127.0.0.1:{server.server_port}"
    store = open_store(f"s3://bucket/archive?scheme=http&endpoint_override={address}&region=us-east-1")

    store.write("1/segment", b"data")

    assert server.refused == 0
