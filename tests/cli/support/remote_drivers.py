"""Drivers of another host: an HTTP server with their dashboards and their metrics."""

import http.server
import threading
from contextlib import contextmanager
from dataclasses import replace

from observed import heartbeat, records_of, snapshot

from aeron_core.cli.dashboard.exchange import document_of_snapshots
from aeron_core.concurrent.error_log import ErrorRecord
from aeron_core.concurrent.loss_report import LossEntry
from aeron_core.metrics.prometheus import prometheus_text
from aeron_core.metrics.samples import HEARTBEAT_AGE, INFO, Sample, counter_samples
from aeron_core.observation import LogParameters

#: A publication whose receiver has not read more, because its only subscriber reads nothing.
STOPPED = {"pub_pos": 131_072, "pub_lmt": 200_000, "snd_pos": 131_072, "snd_lmt": 131_072}
RECEIVED = {"rcv_hwm": 131_072, "rcv_pos": 131_072, "sub_pos": 0}
WHOLE = replace(
    snapshot(*records_of(**STOPPED), heartbeat(), logs={3: LogParameters(65_536, 1408, None, None, True)}),
    errors=(ErrorRecord(1, 2, 3, "text\udc80"),),
    losses=(LossEntry(1, 2, 3, 4, 5, 6, "c", "s"),),
    problems=("p",),
)


@contextmanager
def serving(*answers):
    """Serve answers, each a status, a content type and a body, one after the other; yield the URL and the requests."""
    left, requests = list(answers), []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append((self.path, self.headers.get("Authorization")))
            status, kind, body = left.pop(0)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Location", "http://127.0.0.1:9/")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", requests
        finally:
            server.shutdown()
            thread.join()


def dashboard(*snapshots):
    return 200, "application/json", document_of_snapshots(snapshots)


def metrics(*records, age_s=0.5, identity=None):
    samples = [Sample(HEARTBEAT_AGE, (), age_s), *counter_samples(records)]
    if identity is not None:
        samples.append(Sample(INFO, identity, 1))
    return 200, "text/plain; version=0.0.4", prometheus_text(lambda: samples).encode()
