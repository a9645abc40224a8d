from aeron_core.spi.stream_counter import detached_counter, detached_peer_counter


def test_counters_outside_a_driver_can_be_used_like_any_other():
    counter, peer = detached_counter(1001, "calls"), detached_peer_counter("peer")

    counter.increment_release()

    assert (counter.get(), peer.counter.get()) == (1, 0)
    assert detached_counter(1001, "calls").get() == 0
