import json
import re
from pathlib import Path

import pytest

from aeron_core.cli.doctor.doctor import CHECKS, findings_of
from aeron_core.cli.doctor.findings import Examination, Finding, Health
from aeron_core.cli.doctor.machine import Machine
from aeron_core.settings import DriverSettings

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "doctor.md"


def test_a_machine_without_any_file_is_unknown_and_fails_no_check(patient):
    for check in CHECKS:
        findings = patient.findings(check)
        assert Health.PROBLEM not in {finding.health for finding in findings.values()}, findings


def test_a_check_that_fails_is_unknown_and_the_others_are_shown(tmp_path):
    def check_broken(examined):
        raise RuntimeError("a bug")
        yield

    def check_good(examined):
        yield Finding("good", "yes")

    found = list(findings_of(Examination(Machine(tmp_path), DriverSettings()), (check_broken, check_good)))

    assert [(finding.what, finding.health) for finding in found] == [
        ("broken", Health.UNKNOWN),
        ("good", Health.OK),
    ]
    assert found[0].found == "RuntimeError: a bug"


def test_the_command_prints_a_line_for_each_finding(aeron, tmp_path):
    outcome = aeron("doctor", "--aeron-dir", tmp_path / "driver")

    lines = outcome.out.splitlines()
    assert (outcome.code, outcome.err) == (0, "")
    assert lines[0].split() == ["status", "check", "found", "wanted", "how", "to", "change", "it"]
    assert {line.split()[0] for line in lines[1:-1]} <= {"ok", "advice", "unknown"}
    assert re.fullmatch(r"0 problems, \d+ advised, \d+ unknown, \d+ ok", lines[-1])


def test_json_has_all_findings(aeron, tmp_path):
    outcome = aeron("doctor", "--json", "--aeron-dir", tmp_path / "driver")

    findings = json.loads(outcome.out)
    assert len(findings) > 20
    for finding in findings:
        assert finding.keys() == {"what", "found", "wanted", "health", "change"}
        assert (finding["change"] == "") or finding["health"] != "ok"


def test_a_problem_sets_the_exit_code(aeron, tmp_path):
    (tmp_path / "file").write_text("")

    outcome = aeron("doctor", "--aeron-dir", tmp_path / "file")

    assert outcome.code == 1
    assert "is no directory" in outcome.out
    assert outcome.out.splitlines()[-1].startswith("1 problem,")


@pytest.mark.parametrize(
    "arguments", [("--channel", "no-channel"), ("-Daeron.mtu.length=1",), ("no-such-file.toml",)]
)
def test_wrong_arguments_are_usage_errors(aeron, arguments):
    assert aeron("doctor", *arguments).code == 2


def test_a_setting_that_is_changed_is_advice(aeron, tmp_path, monkeypatch):
    monkeypatch.setenv("AERON_DRIVER_NATIVE_RESOURCE_AGENT_CPU_AFFINITY", "1")

    outcome = aeron("doctor", "--json", "--aeron-dir", tmp_path / "driver")

    assert any(finding["what"] == "settings" for finding in json.loads(outcome.out))


def test_every_check_is_documented(aeron, tmp_path):
    page = PAGE.read_text(encoding="utf-8")

    for finding in json.loads(aeron("doctor", "--json", "--aeron-dir", tmp_path / "driver").out):
        name = re.sub(
            r"(filesystem of|space in|permissions of|directory|medium|UDP port) \S+$", r"\1", finding["what"]
        )
        assert f"| {name}" in page, name
