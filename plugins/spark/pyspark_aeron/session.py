"""Spark sessions configured for recordings: the current Python, a Java, and short micro-batches.

Spark itself is unchanged: all of this could be set by hand.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aeron_core.errors import ConfigurationError
from pyspark_aeron import register
from pyspark_aeron.connect import SCHEME, connect_session
from pyspark_aeron.java import find_java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Renames local files atomically, as Spark's default manager does, but in a third of the time.
_LOCAL_CHECKPOINTS: Final = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
_DEFAULTS: Final[Mapping[str, str]] = {
    # Saves about 40 ms per Python task, during which TCP waits for an acknowledgement.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
}
_SQL: Final = "spark.sql."
_JARS: Final = "spark.jars"
_JVM_READER_JAR: Final = Path(__file__).with_name("aeron-core-spark.jar")


def session(
    master: str = "local[*]",
    *,
    name: str = "aeron-core",
    settings: Mapping[str, str] | None = None,
    local_checkpoints: bool = True,
    jvm_reader: bool = False,
) -> SparkSession:
    """Return the session of this process, created if necessary, with the format `aeron` registered.

    `master`: `local[*]`, `spark://host:port`, or `sc://host:port` for Spark Connect, where only SQL settings apply.
    `local_checkpoints`: whether checkpoints are on a local disk. `settings` override all others.
    `jvm_reader`: whether to load the jar of `jvm_reader_jar`, for `format("aeron-jvm")`.
    Raises ConfigurationError if there is no usable Java, packages for Spark Connect are missing, the server does not
    answer, Spark does not start, or the jar is missing or cannot be loaded; ImportError without pyspark; OSError as
    `find_java_home`.
    """
    from pyspark.sql import SparkSession  # noqa: PLC0415 - takes half a second

    chosen = session_settings(master, local_checkpoints=local_checkpoints) | dict(settings or {})
    if jvm_reader:
        chosen[_JARS] = ",".join(filter(None, [chosen.get(_JARS), str(jvm_reader_jar(master))]))
    if master.startswith(SCHEME):
        spark = connect_session(master, chosen)
    else:
        prepare_environment()
        builder = SparkSession.builder.master(master).appName(name)
        for key, value in chosen.items():
            builder = builder.config(key, value)
        spark = _start(builder, master)
        if jvm_reader and str(_JVM_READER_JAR) not in spark.sparkContext.getConf().get(_JARS, ""):
            raise ConfigurationError(
                "jvm_reader: Spark was started before in this process, without the jar: begin with this session, or "
                f"start Spark with the setting {_JARS}={_JVM_READER_JAR}"
            )
    register(spark)
    return spark


def jvm_reader_jar(master: str = "local") -> Path:
    """Return the path of the jar with the reader of recordings for Spark's Java, for `spark-submit --jars`.

    Raises ConfigurationError if it was not built, or `master` is a Spark Connect server, which needs it when it starts.
    """
    if not _JVM_READER_JAR.exists():
        raise ConfigurationError(
            f"jvm_reader: {_JVM_READER_JAR} is missing: build it by `make spark-jar`, install a wheel "
            'of `make wheels`, or use format("aeron")'
        )
    if master.startswith(SCHEME):
        raise ConfigurationError(
            f"jvm_reader: master {master} is a server that must load the jar when it starts: give it --jars "
            f"{_JVM_READER_JAR}, and omit jvm_reader here"
        )
    return _JVM_READER_JAR


def _start(builder: SparkSession.Builder, master: str) -> SparkSession:
    """Return the session; raises ConfigurationError with Java's message, or with a hint to find the cause."""
    from py4j.protocol import Py4JError, Py4JJavaError  # noqa: PLC0415 - of pyspark
    from pyspark.errors import PySparkException  # noqa: PLC0415 - takes half a second

    failure = f"Spark does not start with master {master}"
    try:
        return builder.getOrCreate()
    except Py4JJavaError as error:
        cause = str(error.java_exception.getMessage()).partition("\n")[0]
        raise ConfigurationError(
            f"{failure}: {cause}: correct the master or the settings; stderr has the complete message"
        ) from error
    except (PySparkException, Py4JError, OSError) as error:
        raise ConfigurationError(
            f"{failure}: {error}; correct the master, the settings or SPARK_HOME; if Java was started, stderr shows "
            "the cause, such as a port in use (spark.ui.port)"
        ) from error


def session_settings(master: str, *, local_checkpoints: bool = True) -> dict[str, str]:
    """Return the settings that `session` applies by default for the same arguments, to build a session without it."""
    settings = dict(_DEFAULTS)
    if master.startswith(SCHEME):
        settings = {name: value for name, value in settings.items() if name.startswith(_SQL)}
    if local_checkpoints:
        settings["spark.sql.streaming.checkpointFileManagerClass"] = _LOCAL_CHECKPOINTS
    if master.startswith("local"):
        settings["spark.ui.enabled"] = "false"
        settings["spark.driver.bindAddress"] = "127.0.0.1"
        settings["spark.driver.host"] = "127.0.0.1"
    return settings


def prepare_environment() -> None:
    """Set environment variables for Spark unless they are set: the current Python for its workers, and a usable Java.

    Raises ConfigurationError if there is no Java that Spark can use, OSError as `find_java_home`.
    """
    # By default Spark uses the first `python3` on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    home = find_java_home()
    if home is not None:
        os.environ["JAVA_HOME"] = str(home)


def check_spark() -> None:
    """Raise ConfigurationError if pyspark is not installed."""
    try:
        import pyspark  # noqa: F401, PLC0415 - optional
    except ImportError:
        raise ConfigurationError(
            "pyspark is not installed: pip install 'aeron-core[spark]', and install Java or 'aeron-core[spark-java]'"
        ) from None
