"""Files of deploy/: valid to the tools that read them, and true of this package."""

import json
import re
import runpy
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import kubernetes_validate
import promql_parser
import pytest
import yaml
from pyspark_aeron.lag import StreamLag
from pyspark_aeron.lag_metrics import LagMetrics

from aeron_core.cli.records.recorder_metrics import METRICS as RECORDER_METRICS
from aeron_core.metrics.prometheus import DriverCollector
from aeron_core.metrics.samples import METRICS, Sample
from aeron_core.settings import load_driver_settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
IMAGE = (DEPLOY / "Dockerfile").read_text()
IMAGE_VARIABLES = dict(re.findall(r"(AERON_\w+)=(\S+)", IMAGE))
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
ALERTS = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yaml").read_text())
DASHBOARD = json.loads((DEPLOY / "grafana" / "aeron-core.json").read_text())


def tool(*command):
    return subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, check=False, timeout=120
    )


@pytest.fixture
def start():
    """Start commands of `aeron-core`; kill those that still run after the test."""
    with ExitStack() as stack:

        def call(*arguments):
            command = [sys.executable, "-m", "aeron_core", *map(str, arguments)]
            pipe = subprocess.PIPE
            process = stack.enter_context(subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True))
            stack.callback(process.kill)
            return process

        yield call


def containers(manifest):
    pod = yaml.safe_load(manifest.read_text())["spec"]["template"]["spec"]
    return [*pod.get("initContainers", ()), *pod["containers"]]


def test_the_image_passes_hadolint():
    hadolint = Path(sys.executable).with_name("hadolint")

    subprocess.run([hadolint, DEPLOY / "Dockerfile"], check=True, timeout=120)


def test_the_compose_file_follows_its_specification():
    outcome = tool(
        "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(DEPLOY / "compose.yaml")
    )

    assert outcome.returncode == 0, outcome.stdout


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.stem)
@pytest.mark.parametrize("version", ["1.29", "1.31"])
def test_manifests_follow_the_schemas_of_kubernetes(manifest, version):
    document = yaml.safe_load(manifest.read_text())

    # It raises an error for a document that is invalid, and returns the version of the schemas that it used.
    assert kubernetes_validate.validate(document, version, strict=True) == version


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.stem)
def test_a_driver_has_its_directory_below_a_mount_point(manifest):
    driver = next(each for each in containers(manifest) if each["name"] == "driver")
    directory = next(each["value"] for each in driver["env"] if each["name"] == "AERON_DIR")

    assert str(Path(directory).parent) in {mount["mountPath"] for mount in driver["volumeMounts"]}


def test_applications_of_a_pod_share_volume_directory_and_user_with_the_driver():
    driver, application = containers(DEPLOY / "kubernetes" / "sidecar.yaml")

    assert application["volumeMounts"] == driver["volumeMounts"]
    assert application["env"] == driver["env"]
    assert "runAsUser" not in {**driver["securityContext"], **application["securityContext"]}


def environment_of(container):
    """Return the variables of a container: those of the image, and those that its manifest sets."""
    return IMAGE_VARIABLES | {each["name"]: each["value"] for each in container["env"]}


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.stem)
def test_a_driver_deletes_a_directory_at_its_start_only_in_a_volume_of_its_pod(manifest):
    pod = yaml.safe_load(manifest.read_text())["spec"]["template"]["spec"]
    driver = next(each for each in containers(manifest) if each["name"] == "driver")

    settings = load_driver_settings(environ=environment_of(driver)).settings

    assert settings.dir_delete_on_start == all("emptyDir" in volume for volume in pod["volumes"])


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.stem)
def test_a_pod_is_ready_while_its_driver_is_alive(manifest):
    driver = next(each for each in containers(manifest) if each["name"] == "driver")

    assert driver["readinessProbe"]["exec"] == driver["livenessProbe"]["exec"]
    ready, alive = (
        driver[name]["periodSeconds"] * driver[name]["failureThreshold"]
        for name in ("readinessProbe", "livenessProbe")
    )
    assert ready < alive


def drivers():
    """Return the arguments, environment and health check of each driver in deploy/."""
    for manifest in MANIFESTS:
        driver = next(each for each in containers(manifest) if each["name"] == "driver")
        yield pytest.param(
            driver["args"],
            environment_of(driver),
            driver["livenessProbe"]["exec"]["command"],
            id=manifest.stem,
        )
    check = json.loads(re.search(r"HEALTHCHECK.*?CMD (\[.*?\])", IMAGE, re.DOTALL)[1])
    driver = COMPOSE["services"]["driver"]
    yield pytest.param(driver["command"], IMAGE_VARIABLES | driver["environment"], check, id="compose")


@pytest.mark.system
@pytest.mark.parametrize(("arguments", "environment", "check"), list(drivers()))
def test_the_driver_of_a_container_starts_and_passes_its_health_check(
    start,
    tmp_path,
    monkeypatch,
    arguments,
    environment,
    check,
):
    for name, value in environment.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("AERON_DIR", str(tmp_path / "driver"))
    # The port may be in use here.
    process = start(*(re.sub(r":9464$", ":0", argument) for argument in arguments))
    assert "metrics at http://" in process.stderr.readline()

    program, *rest = check
    healthy = start(*rest).wait(60)
    process.send_signal(signal.SIGTERM)

    assert program == "aeron-core"
    assert healthy == 0
    assert process.wait(60) == signal.SIGTERM
    assert start(*rest).wait(60) == 1


@pytest.mark.parametrize("service", ["ping", "pong"])
def test_applications_of_the_compose_file_have_arguments_of_the_command_line(start, service, tmp_path):
    command, *options = COMPOSE["services"][service]["command"]

    process = start(command, *options, "--aeron-dir", tmp_path, "--help")

    assert process.wait(60) == 0, process.stderr.read()


@cache
def exported():
    """Return the labels of all metrics, with those that Prometheus adds, by the names that it gives to them."""
    metrics = (*METRICS, *RECORDER_METRICS)
    collectors = [
        DriverCollector(lambda: [Sample(metric, ("x",) * len(metric.labels), 1) for metric in metrics])
    ]
    lags = LagMetrics()
    lags.report("query", [StreamLag(0, 1, 1.0)])
    found = {"up": set()} | {
        sample.name: set(sample.labels)
        for collector in (*collectors, lags)
        for family in collector.collect()
        for sample in family.samples
    }
    return {name: labels | {"instance", "job"} for name, labels in found.items()}


def expressions():
    for group in ALERTS["groups"]:
        for rule in group["rules"]:
            yield pytest.param(rule["expr"], id=rule["alert"])
    for panel in DASHBOARD["panels"]:
        for number, target in enumerate(panel.get("targets") or ()):
            yield pytest.param(target["expr"], id=f"{panel['title']}-{number}")


def metrics_in(node):
    if isinstance(node, promql_parser.VectorSelector):
        return {node.name}
    children = [getattr(node, name, None) for name in ("lhs", "rhs", "expr", "vector_selector", "vs")]
    children += list(getattr(node, "args", None) or ())
    return {name for child in children if child is not None for name in metrics_in(child)}


@pytest.mark.parametrize("expression", list(expressions()))
def test_alerts_and_panels_use_metrics_that_are_exported(expression):
    parsed = promql_parser.parse(expression.replace("$__rate_interval", "1m"))

    found = metrics_in(parsed)

    assert found
    assert found <= set(exported())


def labels_of(node):
    """Return the labels of the series of an expression; assert that all labels that it names are exported."""
    if isinstance(node, promql_parser.VectorSelector):
        assert {matcher.name for matcher in node.matchers.matchers} <= exported()[node.name]
        return exported()[node.name]
    if isinstance(node, promql_parser.AggregateExpr):
        assert node.modifier.type == promql_parser.AggModifierType.By
        assert set(node.modifier.labels) <= labels_of(node.expr)
        return set(node.modifier.labels)
    if isinstance(node, promql_parser.BinaryExpr):
        left, right = labels_of(node.lhs), labels_of(node.rhs)
        if node.modifier is None or node.modifier.matching is None:
            # Series without equal labels do not match.
            assert left == right or not left or not right, node
            return left or right
        assert set(node.modifier.matching.labels) <= left & right
        is_right = node.modifier.card == promql_parser.VectorMatchCardinality.OneToMany
        return right if is_right else left
    children = [getattr(node, name, None) for name in ("expr", "vector_selector", "vs")]
    children += list(getattr(node, "args", None) or ())
    return set().union(*(labels_of(child) for child in children if child is not None))


def labelled_texts():
    """Return the texts with labels that belong to the series of each expression."""
    for group in ALERTS["groups"]:
        for rule in group["rules"]:
            named = re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values()))
            yield pytest.param(rule["expr"], named, id=rule["alert"])
    for panel in DASHBOARD["panels"]:
        for number, target in enumerate(panel.get("targets") or ()):
            named = re.findall(r"{{(\w+)}}", target["legendFormat"])
            yield pytest.param(target["expr"], named, id=f"{panel['title']}-{number}")


@pytest.mark.parametrize(("expression", "named"), list(labelled_texts()))
def test_alerts_and_panels_use_labels_that_their_metrics_have(expression, named):
    found = labels_of(promql_parser.parse(expression.replace("$__rate_interval", "1m")))

    assert set(named) <= found


def test_labels_of_expressions_are_compared():
    wrong = [
        'aeron_archive_free_bytes{folder="x"}',
        "max by (stream) (aeron_publisher_position_bytes_total)",
        "aeron_publisher_position_bytes_total - aeron_archive_free_bytes",
        "aeron_publisher_position_bytes_total - on (archive) aeron_publisher_limit_bytes",
    ]

    for expression in wrong:
        with pytest.raises(AssertionError):
            labels_of(promql_parser.parse(expression))


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool of Prometheus is not installed")
def test_prometheus_accepts_its_configuration_and_the_alerts():
    folder = DEPLOY / "prometheus"
    for kind, file in (("config", "prometheus.yml"), ("rules", "alerts.yaml")):
        done = subprocess.run(
            ["promtool", "check", kind, folder / file],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("expression", list(expressions()))
def test_the_one_side_of_a_match_has_one_series_for_a_session_on_several_channels(expression):
    left, match, _ = " ".join(expression.split()).partition(
        " - on (instance, session_id, stream_id) group_right ()"
    )

    assert not match or left.startswith("max by (instance, session_id, stream_id) (")


def test_variables_of_the_dashboard_use_metrics_that_are_exported():
    queries = [each["query"] for each in DASHBOARD["templating"]["list"] if each["type"] == "query"]
    names = {re.search(r"label_values\((\w+)", query)[1] for query in queries}

    assert names <= set(exported())


def test_the_dashboard_is_what_its_program_writes():
    program = runpy.run_path(str(DEPLOY / "grafana" / "generate.py"))

    assert program["text"]() == (DEPLOY / "grafana" / "aeron-core.json").read_text()


def test_every_alert_has_a_severity_and_a_remedy():
    for group in ALERTS["groups"]:
        for rule in group["rules"]:
            assert set(rule["annotations"]) == {"summary", "description"}
            assert rule["labels"]["severity"] in {"warning", "critical"}


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool of Prometheus is not installed")
@pytest.mark.parametrize(
    ("refusals", "firing"),
    [
        ("0+6x120", set()),
        # Many from the start of a driver: the alert ends when they are usual.
        ("0+600x120", {6}),
        ("0+600x60 37000+6000x60", {6, 70}),
    ],
)
def test_the_alert_for_refused_datagrams_fires_while_their_rate_has_risen(tmp_path, refusals, firing):
    series = (
        'aeron_security_refused_datagrams_total{instance="i",channel="c",reason="forged",registration_id="7"}'
    )
    fires = 'count(ALERTS{alertname="AeronRefusedDatagrams",alertstate="firing"})'
    tests = [
        {
            "expr": fires,
            "eval_time": f"{minute}m",
            "exp_samples": [{"labels": "{}", "value": 1}] if minute in firing else [],
        }
        for minute in (6, 50, 70, 119)
    ]
    document = {
        "rule_files": [str(DEPLOY / "prometheus" / "alerts.yaml")],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": series, "values": refusals}],
                "promql_expr_test": tests,
            }
        ],
    }
    file = tmp_path / "test.yaml"
    file.write_text(json.dumps(document))

    done = subprocess.run(
        ["promtool", "test", "rules", file], capture_output=True, text=True, check=False, timeout=60
    )

    assert done.returncode == 0, done.stdout + done.stderr
