"""Options of the Spark source and sink: parsed, or refused with a ConfigurationError that names the option.

An input is a line for each option, key=value; a source, and a sink after a first line "sink".
"""

from __future__ import annotations

import pickle

from pyspark_aeron.options import SourceOptions
from pyspark_aeron.writing.sink_options import SinkOptions

from aeron_core.errors import ConfigurationError
from targets._texts import check_text


def seeds() -> list[bytes]:
    return [
        b"path=/data/recordings",
        b'archive=s3://bucket/a\nrecordings=1,2\nstartingPosition={"1": 4096, "2": -2}\nendingPosition=latest\n'
        b"maxBytesPerTrigger=64m\nminBytesPerTrigger=1k\nmaxTriggerDelay=5s\nminPartitions=4\nbatchRows=100",
        b"path=file:///a%20b\nchannelPattern=aeron:udp.*\nstartingPosition=2026-01-31T12:00:00+01:00\n"
        b"failOnDataLoss=false\nverify=no\nassemble=fragments\nkafkaSchema=true\nconsumerName=a-1",
        b"path=~/a\nlive=true\nchannel=aeron:ipc\nstreamId=-7\naeronDir=/dev/shm/a\nspoolLength=1g\npollTimeout=1ms",
        b"sink\nchannel=aeron:ipc\nstreamId=3\ndedupe=header\nconnectTimeout=1s",
        b"sink\npath=/data\ntermLength=1m\nsegmentLength=4m\nstaging=/tmp/s\nqueryName=q",
    ]


def check(data: bytes) -> bool:
    lines = data.decode("utf-8", "replace").split("\n")
    model = SinkOptions if lines[0] == "sink" else SourceOptions
    options = dict(line.split("=", 1) for line in lines if "=" in line)
    try:
        parsed = model.parse(options)
    except ConfigurationError as error:
        check_text(error, 10_000)
        return False
    # Spark sends them to its executors.
    assert pickle.loads(pickle.dumps(parsed)) == parsed
    return True
