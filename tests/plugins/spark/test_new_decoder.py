"""The decoder that `aeron-core plugins new` writes passes its own tests."""

import importlib
import tomllib

import pytest

from aeron_core.cli.main import run

pytestmark = pytest.mark.spark


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Install a new decoder, and return the module with its tests."""
    assert run(["plugins", "new", "my-decoder", "--kind", "decoder", "--to", str(tmp_path)]) == 0
    folder = tmp_path / "my-decoder"
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ((group, points),) = project["entry-points"].items()
    info = folder / "src" / "my_decoder-0.1.0.dist-info"
    info.mkdir()
    lines = [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-decoder\nVersion: 0.1.0\n")
    for path in (folder / "src", folder / "tests"):
        monkeypatch.syspath_prepend(path)
    importlib.invalidate_caches()
    return importlib.import_module("test_my_decoder")


def test_a_new_decoder_passes_its_tests(spark, written):
    written.test_payloads_become_columns(spark)
    written.test_other_options_are_refused(spark, {})
    written.test_other_options_are_refused(spark, {"schema": "host string", "colour": "red"})
