"""Entry points of distributions: those that `importlib.metadata` finds."""

import importlib.metadata
import subprocess
import sys
import zipfile

import pytest

from aeron_core.entry_points import entry_points


def install(folder, name, points, version="1.5", suffix="dist-info"):
    """Write the metadata of a distribution; `points` is the text of its entry points."""
    info = folder / f"{name}-{version}.{suffix}"
    info.mkdir(parents=True)
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nName: of the description\n"
    (info / ("METADATA" if suffix == "dist-info" else "PKG-INFO")).write_text(text)
    (info / "entry_points.txt").write_text(points)


def described(points):
    return [(point.name, point.value, point.dist.name, point.dist.version) for point in points]


@pytest.mark.parametrize("group", ["aeron_core", "console_scripts", "pytest11", "no_such_group"])
def test_the_same_is_found_as_by_the_standard_library(group):
    expected = importlib.metadata.entry_points(group=group)

    assert sorted(described(entry_points(group=group))) == sorted(described(expected))


@pytest.mark.parametrize("suffix", ["dist-info", "egg-info"])
def test_an_entry_point_has_its_name_value_and_distribution(tmp_path, monkeypatch, suffix):
    ours = "[ours]\n# A comment.\nfirst = os.path : join [extra]\nsecond=json\n"
    points = f"[other]\nwrong = os\n\n{ours}[last]\nx = os\n"
    install(tmp_path, "Some.Name", points, suffix=suffix)
    monkeypatch.syspath_prepend(tmp_path)

    first, second = entry_points(group="ours")

    assert described([first, second]) == [
        ("first", "os.path : join [extra]", "Some.Name", "1.5"),
        ("second", "json", "Some.Name", "1.5"),
    ]


def test_an_entry_point_loads_a_module_or_an_attribute(tmp_path, monkeypatch):
    install(tmp_path, "a", "[ours]\nmodule = json\nattribute = os:path.join\nwrong = os:no_such_name\n")
    monkeypatch.syspath_prepend(tmp_path)
    module, attribute, wrong = entry_points(group="ours")

    assert module.load() is sys.modules["json"]
    assert attribute.load() is __import__("os").path.join
    with pytest.raises(AttributeError, match="no_such_name"):
        wrong.load()


def test_a_distribution_that_is_found_twice_counts_once(tmp_path, monkeypatch):
    install(tmp_path / "later", "Some.Name", "[ours]\nolder = os\n", version="1.0")
    install(tmp_path / "first", "some_name", "[ours]\nnewer = os\n", version="2.0")
    monkeypatch.syspath_prepend(tmp_path / "later")
    monkeypatch.syspath_prepend(tmp_path / "first")

    assert [point.name for point in entry_points(group="ours")] == ["newer"]


def test_a_path_in_the_search_path_is_read_and_bytes_are_ignored(tmp_path, monkeypatch):
    install(tmp_path, "a", "[ours]\nfirst = os\n")
    monkeypatch.setattr(sys, "path", [b"/nowhere", *sys.path, tmp_path])

    (point,) = entry_points(group="ours")

    assert point.name == "first"


def test_metadata_in_another_encoding_than_utf_8_are_read(tmp_path, monkeypatch):
    install(tmp_path, "a", "[ours]\nfirst = os\n")
    folder = tmp_path / "a-1.5.dist-info"
    (folder / "METADATA").write_bytes("Name: a\nVersion: 1.5\nAuthor: José\n".encode("latin-1"))
    (folder / "entry_points.txt").write_bytes("# José\n[ours]\nfirst = os\n".encode("latin-1"))
    monkeypatch.syspath_prepend(tmp_path)

    (point,) = entry_points(group="ours")

    assert described([point]) == [("first", "os", "a", "1.5")]


def test_distributions_in_an_archive_are_found(tmp_path, monkeypatch):
    install(tmp_path / "files", "a", "[ours]\nmain = os\n")
    archive = tmp_path / "packages.zip"
    with zipfile.ZipFile(archive, "w") as written:
        for path in (tmp_path / "files").rglob("*"):
            written.write(path, path.relative_to(tmp_path / "files"))
    monkeypatch.syspath_prepend(archive)

    assert [point.name for point in entry_points(group="ours")] == ["main"]


def test_distributions_of_another_finder_are_found(monkeypatch):
    class Distribution(importlib.metadata.Distribution):
        def read_text(self, filename):
            return {"METADATA": "Name: theirs\n", "entry_points.txt": "[ours]\nmain = os\n"}.get(filename)

        def locate_file(self, path):
            raise FileNotFoundError(path)

    class Finder(importlib.metadata.DistributionFinder):
        def find_spec(self, *_):
            return None

        def find_distributions(self, context=None):
            return [Distribution()]

    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])

    assert [point.name for point in entry_points(group="ours")] == ["main"]


@pytest.mark.system
def test_plugins_are_found_without_the_module_of_the_standard_library():
    load = "import sys; from aeron_core.registry import Registry; Registry.load()"
    code = f"{load}; print('importlib.metadata' in sys.modules)"

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout == "False\n"
