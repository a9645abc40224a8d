import errno

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.clock import Clock
from aeron_core.concurrent.counters import (
    NOT_FREE_TO_REUSE,
    NULL_COUNTER_ID,
    CountersManager,
    CountersReader,
)
from aeron_core.errors import ConfigurationError, StorageError

MILLISECOND = 1_000_000


def make_manager(count=4, clock=None, timeout_ms=1000):
    return CountersManager(
        AtomicBuffer.allocate(count * wire.COUNTER_METADATA_LENGTH),
        AtomicBuffer.allocate(count * wire.COUNTER_VALUE_LENGTH),
        clock or Clock.manual(),
        timeout_ms,
    )


def reader_of(manager):
    return CountersReader(manager.metadata, manager.values)


def test_a_counter_is_read_as_it_was_allocated():
    manager = make_manager()

    manager.allocate(0, "first")
    counter_id = manager.allocate(11, "beat", b"\x05\x06", registration_id=5, owner_id=-1, reference_id=7)
    manager.set_value(counter_id, -3)

    first, record = reader_of(manager)
    assert (first.id, first.registration_id, first.owner_id, first.reference_id) == (0, 0, 0, 0)
    assert (record.id, record.type_id, record.label, record.value) == (1, 11, "beat", -3)
    assert record.key == b"\x05\x06" + bytes(110)
    assert (record.registration_id, record.owner_id, record.reference_id) == (5, -1, 7)
    assert (record.state, record.free_for_reuse_deadline_ms) == (1, NOT_FREE_TO_REUSE)


def test_the_manager_finds_and_frees_its_counters_whatever_was_written_to_the_file():
    manager = make_manager()
    ids = [manager.allocate(5, "shared", registration_id=9) for _ in range(2)]

    manager.metadata.set_memory(0, manager.metadata.capacity, 0)
    found = [manager.find(5, 9)]
    for counter_id in ids:
        assert manager.free(counter_id)
        found.append(manager.find(5, 9))

    assert found == [0, 1, NULL_COUNTER_ID]
    assert not manager.free(0)


def test_every_field_is_at_the_offset_of_the_format():
    manager = make_manager()

    manager.allocate(3, "first")
    manager.allocate(2, "beat", b"key", registration_id=5, owner_id=6, reference_id=7)

    metadata, values = manager.metadata, manager.values
    assert [metadata.get_i32(512), metadata.get_i32(516), metadata.get_i64(520)] == [1, 2, 2**63 - 1]
    assert metadata.get_bytes(528, 4) == b"key\0"
    assert (metadata.get_i32(640), metadata.get_bytes(644, 5)) == (4, b"beat\0")
    assert [values.get_i64(128 + at) for at in (0, 8, 16, 24)] == [0, 5, 6, 7]


def test_ids_count_up_from_zero():
    manager = make_manager()

    assert [manager.allocate(0, "x") for _ in range(4)] == [0, 1, 2, 3]


def test_a_freed_counter_is_reclaimed_and_loses_its_key_but_keeps_its_values():
    clock = Clock.manual(epoch_ms=5000)
    manager = make_manager(clock=clock, timeout_ms=1000)
    counter_id = manager.allocate(4, "gone", b"key", registration_id=5)
    manager.set_value(counter_id, 9)

    assert manager.free(counter_id)

    record = reader_of(manager).record(counter_id)
    assert (record.state, record.free_for_reuse_deadline_ms, record.key) == (-1, 6000, bytes(112))
    assert (record.value, record.registration_id, record.label) == (9, 5, "gone")
    assert list(reader_of(manager)) == []


def test_a_counter_is_freed_once():
    manager = make_manager()
    counter_id = manager.allocate(4, "x")

    assert [manager.free(counter_id) for _ in range(2)] == [True, False]


@pytest.mark.parametrize("counter_id", [-1, 0, 4, 2**31])
def test_an_id_that_was_never_allocated_is_not_freed(counter_id):
    assert not make_manager().free(counter_id)


def test_an_id_is_not_reused_before_its_timeout():
    clock = Clock.manual()
    manager = make_manager(clock=clock, timeout_ms=1000)
    manager.free(manager.allocate(0, "x"))

    clock.advance(999 * MILLISECOND)

    assert manager.allocate(0, "y") == 1


@pytest.mark.parametrize(
    ("step_ms", "waited_ms", "reused"), [(3_600_000, 999, False), (-3_600_000, 1000, True)]
)
def test_a_step_of_the_system_clock_does_not_change_the_timeout_of_an_id(step_ms, waited_ms, reused):
    clock = Clock.manual()
    manager = make_manager(clock=clock, timeout_ms=1000)
    counter_id = manager.allocate(0, "x")
    manager.free(counter_id)

    clock.step(step_ms * MILLISECOND)
    clock.advance(waited_ms * MILLISECOND)

    assert (manager.allocate(0, "y") == counter_id) is reused


def test_an_id_is_reused_with_reset_values_after_its_timeout():
    clock = Clock.manual()
    manager = make_manager(clock=clock, timeout_ms=1000)
    counter_id = manager.allocate(3, "a longer label", b"longer key", registration_id=5, owner_id=6)
    manager.set_value(counter_id, 9)
    manager.free(counter_id)

    clock.advance(1000 * MILLISECOND)

    assert manager.allocate(0, "y", b"k") == counter_id
    record = reader_of(manager).record(counter_id)
    assert (record.type_id, record.label, record.key) == (0, "y", b"k" + bytes(111))
    assert (record.value, record.registration_id, record.owner_id) == (0, 0, 0)


def test_the_id_freed_first_is_reused_first():
    clock = Clock.manual()
    manager = make_manager(clock=clock, timeout_ms=0)
    ids = [manager.allocate(0, "x") for _ in range(3)]
    for counter_id in (ids[2], ids[0]):
        manager.free(counter_id)

    assert [manager.allocate(0, "y") for _ in range(3)] == [2, 0, 3]


def test_the_error_for_exhausted_ids_names_the_setting_to_raise():
    manager = make_manager(count=2)
    for _ in range(2):
        manager.allocate(0, "x")

    with pytest.raises(
        StorageError, match=r"'one more'.*all 2 .*raise AERON_COUNTERS_BUFFER_LENGTH"
    ) as error:
        manager.allocate(0, "one more")

    assert error.value.errno == errno.ENOMEM


def test_label_and_key_are_truncated_to_the_length_of_their_fields():
    manager = make_manager()

    counter_id = manager.allocate(0, "é" * 200, bytes(range(1, 200)))

    record = manager.record(counter_id)
    assert record.label == "é" * 190
    assert record.key == bytes(range(1, 113))
    assert manager.state(counter_id + 1) == wire.COUNTER_STATE_UNUSED


def test_a_label_can_be_replaced_and_extended():
    manager = make_manager()
    counter_id = manager.allocate(0, "x")

    manager.set_label(counter_id, "client:")
    manager.append_to_label(counter_id, " name=n")
    manager.append_to_label(counter_id, "n" * 400)

    assert manager.label(counter_id) == "client: name=n" + "n" * 366


def test_a_counter_is_found_by_type_and_registration():
    manager = make_manager()
    manager.allocate(1, "other type", registration_id=9)
    manager.allocate(2, "other registration", registration_id=8)
    wanted = manager.allocate(2, "wanted", registration_id=9)

    assert reader_of(manager).find(2, 9) == wanted
    assert reader_of(manager).find(3, 9) == NULL_COUNTER_ID


def test_a_freed_counter_is_not_found_and_does_not_hide_later_ones():
    manager = make_manager()
    manager.free(manager.allocate(2, "freed", registration_id=9))
    wanted = manager.allocate(2, "wanted", registration_id=9)

    assert reader_of(manager).find(2, 9) == wanted


def test_a_compiled_counter_shares_the_value():
    manager = make_manager()
    counter_id = manager.allocate(2, "x")

    manager.counter(counter_id).set_release(42)

    assert manager.value(counter_id) == 42


@pytest.mark.parametrize("counter_id", [-1, 4, 2**31])
def test_reading_outside_the_counters_is_rejected(counter_id):
    with pytest.raises(IndexError, match=f"counter_id={counter_id}: must be from 0 to 3"):
        make_manager().label(counter_id)


def test_metadata_too_short_for_the_values_is_rejected():
    with pytest.raises(ConfigurationError, match="must be at least 1024"):
        CountersManager(AtomicBuffer.allocate(1023), AtomicBuffer.allocate(256), Clock.manual(), 0)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=1600), st.binary(max_size=600))
def test_no_content_of_the_buffers_causes_a_read_outside_them(metadata, values):
    reader = CountersReader(AtomicBuffer(metadata), AtomicBuffer(values))

    for record in reader:
        assert len(record.label.encode()) <= 3 * wire.COUNTER_LABEL_MAX_LENGTH
    reader.find(0, 0)


@pytest.mark.parametrize("length", [-1, 381, 2**31 - 1])
def test_an_impossible_label_length_is_bounded(length):
    manager = make_manager()
    counter_id = manager.allocate(0, "x")
    manager.metadata.put_i32(wire.COUNTER_LABEL_LENGTH_OFFSET, length)

    assert len(manager.label(counter_id)) in (0, wire.COUNTER_LABEL_MAX_LENGTH)
    manager.append_to_label(counter_id, "more")
    assert len(manager.label(counter_id)) in (4, wire.COUNTER_LABEL_MAX_LENGTH)


def test_the_counters_of_a_real_driver_are_read_as_recorded(recorded_cnc, cnc_section):
    reader = CountersReader(cnc_section("counters_metadata"), cnc_section("counters_values"))
    recorded = recorded_cnc["counters"]

    assert reader.max_counter_id == 65535
    assert [record.id for record in reader] == [r["id"] for r in recorded if r["state"] == 1]
    for expected in recorded:
        record = reader.record(expected["id"])
        key = bytes.fromhex(expected["key_hex"])
        assert record.key == key + bytes(wire.COUNTER_KEY_MAX_LENGTH - len(key))
        for name in ("state", "type_id", "free_for_reuse_deadline_ms", "label", "value"):
            assert getattr(record, name) == expected[name]
        for name in ("registration_id", "owner_id", "reference_id"):
            assert getattr(record, name) == expected[name]


def test_the_counters_of_a_real_driver_are_reproduced_byte_for_byte(recorded_cnc, cnc_section):
    metadata, values = cnc_section("counters_metadata"), cnc_section("counters_values")
    clock = Clock.manual(epoch_ms=0)
    manager = CountersManager(
        AtomicBuffer.allocate(metadata.capacity), AtomicBuffer.allocate(values.capacity), clock, 1000
    )

    for r in recorded_cnc["counters"]:
        counter_id = manager.allocate(
            r["type_id"],
            r["label"],
            bytes.fromhex(r["key_hex"]),
            registration_id=r["registration_id"],
            owner_id=r["owner_id"],
            reference_id=r["reference_id"],
        )
        manager.set_value(counter_id, r["value"])
        if r["state"] == wire.COUNTER_STATE_RECLAIMED:
            clock.advance((r["free_for_reuse_deadline_ms"] - 1000) * MILLISECOND)
            manager.free(counter_id)

    assert manager.metadata.get_bytes(0, metadata.capacity) == metadata.get_bytes(0, metadata.capacity)
    assert manager.values.get_bytes(0, values.capacity) == values.get_bytes(0, values.capacity)
