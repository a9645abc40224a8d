"""Memory of windows: its limit for an endpoint, and events that do not fit."""

from __future__ import annotations

import random
import resource
from pathlib import Path

import pytest
from writing import CHANNEL, Writing, acknowledged, payloads

from aeron_core.testing.pair import S

A, B, C = (b'{"n":%d}' % n for n in range(3))


def random_event(chance, length):
    """Return an event that compresses to about half of its length."""
    return b'{"m":"%s"}' % chance.randbytes(length // 2).hex().encode()


def test_a_window_that_exceeds_the_memory_is_sent_as_several(tmp_path):
    with Writing(tmp_path, "|max-memory=512k|term-length=2m") as writing:
        writing.accept()
        chance = random.Random(1)
        sent = [random_event(chance, 6000) for _ in range(100)]
        # All messages are in the log when the first window is built: only some fit into the memory.
        writing.driver.is_stalled = True
        for event in sent:
            assert writing.publication.offer(event) > 0
        writing.driver.is_stalled = False
        assert acknowledged(writing) == sent
        assert writing.counted("lost") == 0
        assert writing.counted("passed-over") == 0


@pytest.mark.parametrize("keys", ["", "|compression=0", "|wrap=true"])
def test_an_event_larger_than_the_budget_is_skipped_and_reported(tmp_path, keys):
    with Writing(tmp_path, f"|max-memory=512k|term-length=16m{keys}") as writing:
        writing.accept()
        chance = random.Random(1)
        sent = [A, random_event(chance, 1 << 20), B]
        writing.offer(*sent)
        came = acknowledged(writing)
        assert len(came) == 2
        assert writing.counted("passed-over") == 1
        writing.run(2 * S)
        assert "max-memory=" in writing.errors()[0]


@pytest.mark.parametrize("keys", ["", "|compression=0", "|wrap=true"])
def test_an_event_is_kept_while_the_process_has_no_memory(tmp_path, keys):
    with Writing(tmp_path, f"|term-length=64m{keys}") as writing:
        writing.accept()
        sent = [A, b'{"a":"' + b"a" * 6_000_000 + b'"}', B]
        writing.offer(A)
        came = acknowledged(writing)
        before = resource.getrlimit(resource.RLIMIT_AS)
        # Longer than a block that the C library takes from its heap: it needs more address space.
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (2 << 20), before[1]))
        try:
            for event in sent[1:]:
                assert writing.publication.offer(event) > 0
            writing.run(1 * S)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)

        came += acknowledged(writing)

        assert writing.counted("passed-over") == 0
        assert len(came) == len(sent)


def test_an_event_larger_than_the_budget_does_not_wait_for_other_streams(tmp_path):
    keys = "|max-memory=512k|term-length=16m|compression=0"
    with Writing(tmp_path, keys) as writing:
        writing.accept()
        # Its reader does not read, so its window holds memory.
        writing.reader.capacity = 0
        writing.offer(random_event(random.Random(1), 100_000))
        writing.publication = writing.result(
            writing.client.add_exclusive_publication_async(CHANNEL + keys, 8)
        )
        writing.accept()
        writing.offer(random_event(random.Random(1), 1 << 20), A)
        assert payloads(writing.received_windows(2 * S)) == [A]
        assert writing.counted("passed-over") == 1


def test_an_idle_stream_frees_its_memory_for_others(tmp_path):
    with Writing(tmp_path, "|max-memory=1m|term-length=8m|compression=0") as writing:
        writing.accept()
        chance = random.Random(1)
        idle = random_event(chance, 200_000)
        writing.offer(idle)
        assert acknowledged(writing) == [idle]
        writing.publication = writing.result(
            writing.client.add_exclusive_publication_async(
                f"{CHANNEL}|max-memory=1m|term-length=8m|compression=0", 8
            )
        )
        writing.accept()
        event = random_event(chance, 500_000)
        writing.offer(event)
        writing.unacknowledged = lambda: (
            writing.publication.position
            - max(
                counter.value for counter in writing.driver.find_counters("snd-pos") if " 8 " in counter.label
            )
        )
        assert acknowledged(writing) == [event]
        assert writing.counted("passed-over") == 0
