"""Sessions on a Spark Connect server, which runs the queries; this process is only a thin client.

The server's Python needs this package, too, and its machines need access to archives and checkpoints. Settings that
apply when Spark starts, such as its Python and its memory, are those of the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from aeron_core.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Scheme of a master that is a Spark Connect server.
SCHEME: Final = "sc://"
# Maximum wait for a server to accept a connection. An invented number: enough for a server that is just starting.
_ANSWER_TIMEOUT_S: Final = 10.0


def connect_session(url: str, settings: Mapping[str, str]) -> SparkSession:
    """Return a session on the server at `url`; only SQL settings take effect, the server fixes all others.

    Raises ConfigurationError if packages are missing, or the server does not answer or refuses the session.
    """
    _check_packages()
    from pyspark.errors import PySparkException  # noqa: PLC0415 - takes half a second
    from pyspark.sql import SparkSession  # noqa: PLC0415 - takes half a second

    _await_server(url)
    try:
        builder = SparkSession.builder.remote(url)
        for name, value in settings.items():
            builder = builder.config(name, value)
        return builder.getOrCreate()
    except PySparkException as error:
        raise ConfigurationError(
            f"master {url}: the server refuses a session: {error}; correct the settings, or see the log of the server"
        ) from None


def _check_packages() -> None:
    try:
        import google.rpc  # noqa: F401, PLC0415 - optional
        import grpc  # noqa: F401, PLC0415 - optional
        import grpc_status  # noqa: F401, PLC0415 - optional
        import zstandard  # noqa: F401, PLC0415 - optional
    except ImportError as error:
        raise ConfigurationError(
            f"Spark Connect needs more packages ({error}): pip install 'aeron-core[spark-connect]'"
        ) from None


def _await_server(url: str) -> None:
    """Wait until the server accepts connections; raises ConfigurationError after 10 s, or for a wrong `url`.

    Spark's own client would retry silently for ten minutes.
    """
    import grpc  # noqa: PLC0415 - optional
    from pyspark.errors import PySparkException  # noqa: PLC0415 - takes half a second
    from pyspark.sql.connect.client import DefaultChannelBuilder  # noqa: PLC0415 - needs grpc

    try:
        channel = DefaultChannelBuilder(url).toChannel()
    except (PySparkException, ValueError) as error:
        raise ConfigurationError(
            f"master {url}: must be an address such as sc://host:15002: {error}"
        ) from None
    try:
        grpc.channel_ready_future(channel).result(_ANSWER_TIMEOUT_S)
    except grpc.FutureTimeoutError:
        raise ConfigurationError(
            f"master {url}: no Spark Connect server answered within {_ANSWER_TIMEOUT_S:g} s: must be the address of "
            "one, which `spark-submit --class org.apache.spark.sql.connect.service.SparkConnectServer` starts"
        ) from None
    finally:
        channel.close()
