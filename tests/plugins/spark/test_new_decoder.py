"""The decoder that `aeron-core plugins new` writes passes its own tests, and decodes a recorded stream."""

import importlib
import os
import subprocess
import tomllib

import pytest
from plugin_environment import installed_in
from pyspark_aeron.decoders import decode

from aeron_core.cli.main import run
from aeron_core.testing.recordings import RecordingUnderTest

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def new_decoder(tmp_path_factory):
    """Install a new decoder, and return the module with its tests."""
    folder = tmp_path_factory.mktemp("plugins")
    assert run(["plugins", "new", "my-decoder", "--kind", "decoder", "--to", str(folder)]) == 0
    folder /= "my-decoder"
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ((group, points),) = project["entry-points"].items()
    info = folder / "src" / "my_decoder-0.1.0.dist-info"
    info.mkdir()
    lines = [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-decoder\nVersion: 0.1.0\n")
    with pytest.MonkeyPatch.context() as patch:
        for path in (folder / "src", folder / "tests"):
            patch.syspath_prepend(path)
        importlib.invalidate_caches()
        yield importlib.import_module("test_my_decoder")


@pytest.mark.system
def test_a_new_decoder_passes_its_tests_in_an_environment_of_its_own(tmp_path):
    assert run(["plugins", "new", "own-decoder", "--kind", "decoder", "--to", str(tmp_path)]) == 0
    python = installed_in(tmp_path / "environment", tmp_path / "own-decoder")

    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=tmp_path / "own-decoder",
        # Workers of Spark start this Python, which has the decoder.
        env=os.environ | {"PYTEST_ADDOPTS": "", "PYSPARK_PYTHON": str(python)},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_a_new_decoder_decodes_a_recorded_stream(spark, new_decoder, tmp_path):
    recording = RecordingUnderTest.begin(tmp_path / "archive")
    for number in range(10):
        recording.append(b"web,%d" % number)
    stream = spark.readStream.format("aeron").load(str(recording.store.folder))

    query = (
        decode(stream, "my-decoder", {"schema": "host string, load int"})
        .writeStream.format("memory")
        .queryName("decoded")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()

    rows = spark.table("decoded").orderBy("position").collect()
    assert [(row["host"], row["load"], row["_corrupt"]) for row in rows] == [
        ("web", number, None) for number in range(10)
    ]
