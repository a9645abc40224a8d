from aeron_core.concurrent import counter_types
from aeron_core.driver.agents.counter_labels import SystemCounterLabels, labelled


def test_the_id_of_the_control_protocol_version_is_its_index_among_the_system_counters():
    names = [name for name, _ in labelled(SystemCounterLabels())]

    assert names.index("control_protocol_version") == counter_types.SYSTEM_CONTROL_PROTOCOL_VERSION


def test_bytes_of_a_channel_that_are_not_utf_8_are_kept_in_keys():
    channel = b"aeron:ipc?alias=\xa7".decode("utf-8", "surrogateescape")

    assert counter_types.channel_key(channel)[4:] == b"aeron:ipc?alias=\xa7"
