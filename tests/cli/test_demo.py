import json
import re

import pytest

pytestmark = pytest.mark.system


def test_every_line_arrives_once_and_in_order_despite_loss(aeron, tmp_path):
    log = tmp_path / "some.log"
    log.write_bytes(b"".join(b"line %d of a log\n" % number for number in range(1000)) + b"\r cut \n\nlast")

    outcome = aeron("demo", "--input", log, "--min-lines", "30000", "--json")

    result = json.loads(outcome.out)
    assert outcome.code == 0, outcome.err
    assert (result["log_lines"], result["repetitions"]) == (1003, 30)
    assert result["lines_received"] == result["lines_sent"] == 30 * 1003
    assert result["received_sha256"] == result["sent_sha256"]
    assert result["naks_sent"] > 0
    assert result["retransmits"] > 0
    assert result["loss_bytes"] > 0
    assert result["latency"]["count"] == result["lines_sent"]


def test_a_log_that_does_not_arrive_fails(aeron, monkeypatch):
    # With this loss, the frames that connect are lost too.
    monkeypatch.setattr("aeron_core.cli.demo.demo_run._CONNECT_TIMEOUT_S", 1.0)

    outcome = aeron("demo", "--loss", "0.999999", "--min-lines", "10", "--timeout", "1")

    assert outcome.code == 1
    assert "error: " in outcome.err


def test_the_bundled_log_is_sent_if_the_system_has_none(aeron, monkeypatch, tmp_path):
    monkeypatch.setattr("aeron_core.cli.demo.demo._SYSTEM_LOG", tmp_path / "none.log")

    result = json.loads(aeron("demo", "--min-lines", "1", "--loss", "0", "--json").out)

    assert result["log"] == "an excerpt of a Debian dpkg.log"
    assert result["lines_received"] == 2000


def test_the_table_shows_the_repetitions_of_the_log(aeron, tmp_path):
    log = tmp_path / "some.log"
    log.write_bytes(b"one\ntwo\n")

    outcome = aeron("demo", "--input", log, "--min-lines", "5", "--loss", "0")

    rows = [re.split(r" {2,}", line) for line in outcome.out.splitlines()]
    assert ["lines of the log", "2"] in rows
    assert ["times it is sent", "3"] in rows
