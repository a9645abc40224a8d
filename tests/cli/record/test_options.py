"""Options of the command `record`."""

from inspect import signature

import pytest

from aeron_core.cli.quantities import duration_ns_of
from aeron_core.cli.records.record import record
from aeron_core.recording.writing.durability import Durability

pytestmark = pytest.mark.system


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--segment-length", "1x"), "--segment-length='1x': must be a whole decimal number of bytes"),
        (("--dir-mode", "640"), "--dir-mode='640': must be an octal mode with 7 for the owner"),
        (
            ("--dir-group", "no-such-group"),
            "dir_group=no-such-group: no such group: must be the name or number",
        ),
        (("--dir-mode", "0700", "--dir-group", "0"), "dir_mode=0700 gives the group dir_group=0 no access"),
        (("--segment-length", "5"), "--segment-length=5: must be a power of two from 64k to 1g"),
        (("--segment-length", "96k"), "--segment-length=96k: must be a power of two from 64k to 1g"),
        (("--segment-length", "2g"), "--segment-length=2g: must be a power of two from 64k to 1g"),
        (("--interval", "5m"), "--interval='5m': must be a whole number with a unit ns"),
        (("--retain-age", "5"), "--retain-age=5: must have a unit, such as d for days"),
        (("--timeout", "5m"), "--timeout=5m: must be a whole number with a unit ns"),
        (("--interval", "0s"), "durability interval=0 ns: must be positive"),
        (("--durability", "often"), "--durability"),
        (("--to", "s3://bucket/recordings?region=x"), "needs a spool"),
        (
            ("--spool", "s3://bucket/spool?region=x"),
            "spool s3://bucket/spool?region=x: must be a local folder",
        ),
        (("--retain-bytes", "0"), "retention max_bytes=0: must be at least 1"),
        (("--retain-age", "1w"), "--retain-age='1w': must"),
    ],
)
def test_invalid_options_are_refused(aeron, tmp_path, options, message):
    outcome = aeron("record", "aeron:ipc", 7, "--to", tmp_path / "a", *options)

    assert outcome.code == 2
    assert message in outcome.err


def test_the_default_interval_is_that_of_a_recorder():
    preset = signature(record).parameters["interval"].default

    assert duration_ns_of("--interval", preset) == Durability().interval_ns
