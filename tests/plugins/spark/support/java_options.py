"""Options that start Java quickly: the serial collector, the first compiler only, and an archive of loaded classes.

The first compiler alone gets 48 MB for its code by default, and a thread looks for unused code after each 1/200 of it:
5 % of the time of a Java that runs many tests.

They change how long Spark takes, not what it does: a test program runs for seconds, most of which are the loading and
compiling of classes. Programs inherit the options from the environment.

    java_options.py FOLDER      makes the archive in a folder, unless it is there, and prints the variables as JSON
"""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pyspark
from peer_programs import alone
from pyspark_aeron.session import prepare_environment

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"
#: Instead of 10 ms: each look at an archive without new data takes time of both machines, Java and Python.
POLLING = "-Dspark.sql.streaming.pollingDelay=50ms"
#: An archive that does not fit is ignored. Java's warnings would mix with the output of programs.
QUIET = "-Xshare:auto -Xlog:disable"
PROGRAM = Path(__file__).parents[1] / "programs" / "loading.py"
#: Its `sitecustomize` makes Python workers start quickly.
SITE = Path(__file__).parents[1] / "site"
TIMEOUT_S = 480  # below that of a test, which may wait for another process that makes the archive


def java_environment(folder):
    """Return variables that make Spark and its Python workers start quickly; `folder` keeps the archive of classes."""
    prepare_environment()
    archive = class_archive(folder)
    options = f"{QUICK} {QUIET}" + (f" -XX:SharedArchiveFile={archive}" if archive else "")
    return launch_environment(options) | {"SPARK_DAEMON_JAVA_OPTS": options, "PYTHONPATH": worker_path()}


def worker_path():
    """Return the variable PYTHONPATH with the folder that makes Python workers start quickly."""
    return os.pathsep.join(filter(None, [str(SITE), os.environ.get("PYTHONPATH")]))


def launch_environment(options):
    """Return the variables for the Java of a driver and its executors."""
    settings = f'"-Dspark.executor.extraJavaOptions={options}" -Dspark.ui.enabled=false {POLLING}'
    return {"SPARK_LAUNCHER_OPTS": QUICK, "SPARK_SUBMIT_OPTS": f"{options} {settings}"}


def class_archive(folder):
    """Return the archive for this Java and this Spark, made if necessary; None if this Java makes none."""
    java = Path(os.environ["JAVA_HOME"]) / "bin/java" if os.environ.get("JAVA_HOME") else Path("java")
    version = subprocess.run([java, "-version"], capture_output=True, check=True).stderr
    parts = [
        version,
        pyspark.__file__.encode(),
        pyspark.__version__.encode(),
        PROGRAM.read_bytes(),
        QUICK.encode(),
    ]
    digest = hashlib.sha256(b"\0".join(parts)).hexdigest()
    path = folder / pyspark.__version__ / f"spark-{digest[:16]}.jsa"
    with alone(path):
        if not path.exists():
            make_class_archive(path)
    return path if path.stat().st_size else None


def make_class_archive(path):
    """Write the classes that a program loads to `path`, an empty file if this Java archives none."""
    for old in path.parent.glob("*.jsa"):
        old.unlink()
    draft = path.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    driver = f"{QUICK} {QUIET} -XX:ArchiveClassesAtExit={draft}"
    ended = subprocess.run(
        [sys.executable, PROGRAM, path.parent],
        env=os.environ
        | launch_environment(QUICK)
        | {"SPARK_SUBMIT_OPTS": driver, "PYTHONPATH": worker_path()},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    draft.touch()
    draft.replace(path)


if __name__ == "__main__":
    print(json.dumps(java_environment(Path(sys.argv[1]).absolute())))
