"""Messages of an SP peer, read by a pipeline as they arrive."""

from __future__ import annotations

import pynng
import pytest
from live_pipeline import LivePipeline

COUNT = 300


@pytest.mark.system
@pytest.mark.interop
def test_an_sp_channel_is_a_live_source_of_a_pipeline(core, driver, tmp_path):
    with pynng.Pair1(listen=f"ipc://{tmp_path}/pair", send_timeout=60_000) as writer:
        pipeline = LivePipeline(
            tmp_path,
            f"aeron:sp?transport=ipc|path={tmp_path}/pair|mode=dial|term-length=1m",
            driver.aeron_dir,
            "SELECT CAST(payload AS STRING) AS text FROM live",
        )
        core("pipeline", "run", pipeline.path)

        # Each send waits for space, the first one until the pipeline is connected.
        for number in range(COUNT):
            writer.send(b"reading %d" % number)

        pipeline.await_texts(f"reading {number}" for number in range(COUNT))
