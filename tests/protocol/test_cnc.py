import gzip
import json
import struct
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import (
    CncError,
    CncIncompatibleError,
    CncNotReadyError,
    ConfigurationError,
    StorageError,
)
from aeron_core.protocol.cnc import CncFile, CncLayout

VECTORS = Path(__file__).parents[1] / "vectors" / "shm"
RECORDED = json.loads((VECTORS / "01-fixture.json").read_text())["cnc"]["meta"]
LENGTHS = {
    "to_driver_length": 1024 + 768,
    "to_clients_length": 1024 + 128,
    "counters_values_length": 1024,
    "error_log_length": 512,
    "page_size": 4096,
}
LAYOUT = CncLayout.of(**LENGTHS)
HEADER = {"client_liveness_timeout_ns": 10_000_000_000, "start_timestamp_ms": 1_700_000_000_000, "pid": 42}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cnc.dat"


def create(path, layout=LAYOUT, fill=False):
    return CncFile.create(path, layout, **HEADER, fill=fill)


def published(path):
    file = create(path)
    file.publish()
    return file


def recorded_file(tmp_path):
    path = tmp_path / "recorded.dat"
    path.write_bytes(gzip.decompress((VECTORS / "01-cnc.dat.gz").read_bytes()))
    return path


def test_sections_follow_one_another_and_the_file_is_aligned_to_the_page_size():
    assert LAYOUT.counters_metadata_length == 4096
    assert LAYOUT.to_driver_offset == 128
    assert LAYOUT.to_clients_offset == 128 + 1792
    assert LAYOUT.counters_metadata_offset == 128 + 1792 + 1152
    assert LAYOUT.counters_values_offset == 128 + 1792 + 1152 + 4096
    assert LAYOUT.error_log_offset == 128 + 1792 + 1152 + 4096 + 1024
    assert LAYOUT.end_of_sections == 8704
    assert LAYOUT.file_length == 12288


def test_the_header_fields_are_at_the_offsets_of_the_format(path):
    published(path)

    expected = struct.pack("<6i3qi", 512, 1792, 1152, 4096, 1024, 512, 10**10, 1_700_000_000_000, 42, 4096)
    assert path.read_bytes() == expected.ljust(LAYOUT.file_length, b"\0")


@pytest.mark.parametrize("read_only", [False, True])
def test_an_opened_file_has_the_layout_that_its_driver_created(path, read_only):
    driver = published(path)

    file = CncFile.open(path, read_only=read_only)

    assert file.layout == LAYOUT
    assert (file.version, file.page_size, file.pid) == (512, 4096, 42)
    assert (file.client_liveness_timeout_ns, file.start_timestamp_ms) == (10**10, 1_700_000_000_000)
    for name in ("to_driver", "to_clients", "counters_metadata", "counters_values", "error_log"):
        ours, theirs = getattr(driver, name), getattr(file, name)
        assert (theirs.capacity, theirs.read_only) == (ours.capacity, read_only)
        ours.put_i64(ours.capacity - 8, 99)
        assert theirs.get_i64(ours.capacity - 8) == 99


def test_sections_do_not_overlap(path):
    file = published(path)

    for number, name in enumerate(
        ("to_driver", "to_clients", "counters_metadata", "counters_values", "error_log"), 1
    ):
        section = getattr(file, name)
        section.set_memory(0, section.capacity, number)

    content = path.read_bytes()[128:8704]
    assert content == b"\1" * 1792 + b"\2" * 1152 + b"\3" * 4096 + b"\4" * 1024 + b"\5" * 512


def test_a_driver_that_has_not_published_is_not_ready(path):
    create(path)

    with pytest.raises(CncNotReadyError, match="has not finished its start"):
        CncFile.open(path)


def test_a_filled_file_has_its_space_allocated(path):
    create(path, fill=True)

    assert path.stat().st_blocks * 512 >= LAYOUT.file_length


def test_a_file_that_exists_is_not_created_again(path):
    create(path)

    with pytest.raises(StorageError, match="cannot create"):
        create(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"to_driver_length": 1000}, "to_driver_length=1000: must be a power of two plus 768"),
        ({"to_clients_length": 768}, "to_clients_length=768: must be a power of two plus 128"),
        ({"counters_values_length": 1001}, "counters_metadata_length=4004: must be a multiple of 8"),
        ({"error_log_length": 0}, "error_log_length=0"),
        ({"error_log_length": -8}, "error_log_length=-8"),
        ({"page_size": 5000}, "page_size=5000: must be a power of two from 4096"),
        ({"page_size": 2048}, "page_size=2048"),
        ({"error_log_length": 1 << 31}, "must be a multiple of 8 from 8 to 2147483647"),
        ({"error_log_length": (1 << 31) - 8}, "all sections together: must be at most 2147483647"),
    ],
)
def test_an_impossible_layout_is_rejected(path, change, message):
    with pytest.raises(ConfigurationError, match=message):
        create(path, CncLayout.of(**{**LENGTHS, **change}))

    assert not path.exists()


@pytest.mark.parametrize("length", [0, 1, 128])
def test_a_file_that_is_still_growing_is_not_ready(path, length):
    path.write_bytes(bytes(length))

    with pytest.raises(CncNotReadyError, match=str(path)):
        CncFile.open(path)


def test_a_missing_file_is_not_ready(path):
    with pytest.raises(CncNotReadyError, match=f"^cannot open {path}: No such file"):
        CncFile.open(path)


def test_a_file_shorter_than_its_sections_is_not_ready(path):
    published(path)
    path.write_bytes(path.read_bytes()[: LAYOUT.end_of_sections - 1])

    with pytest.raises(CncNotReadyError, match="has 8703 bytes: must have 8704"):
        CncFile.open(path)


def test_a_file_of_exactly_the_length_of_its_sections_is_opened(path):
    published(path)
    path.write_bytes(path.read_bytes()[: LAYOUT.end_of_sections])

    assert CncFile.open(path).error_log.capacity == 512


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (15, "version 0.0.15, of a media driver before Aeron 1.28"),
        (16, "version 0.0.16"),
        (511, "version 0.1.255"),
        (1 << 16, "version 1.0.0: must be 0.2.0 or a later 0.x"),
        (-1, "must be 0.2.0 or a later 0.x"),
    ],
)
def test_another_version_is_incompatible(path, version, message):
    file = published(path)
    file.buffer.put_i32(0, version)

    with pytest.raises(CncIncompatibleError, match=message):
        CncFile.open(path)


@pytest.mark.parametrize("version", [512, 513, 0x300])
def test_a_later_minor_version_is_opened(path, version):
    file = published(path)
    file.buffer.put_i32(0, version)

    assert CncFile.open(path).version == version


def test_a_header_without_a_page_size_means_4096(path):
    file = published(path)
    file.buffer.put_i32(wire.CNC_FILE_PAGE_SIZE_OFFSET, 0)

    assert CncFile.open(path).page_size == 4096


@pytest.mark.parametrize("offset", [4, 8, 12, 16, 20, 48])
@pytest.mark.parametrize("length", [-1, -8, 12, 1 << 30, 2**31 - 1])
def test_impossible_lengths_raise_a_documented_error(path, offset, length):
    file = published(path)
    file.buffer.put_i32(offset, length)

    try:
        opened = CncFile.open(path)
    except CncError:
        return
    assert opened.layout.end_of_sections <= opened.buffer.capacity


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from([0, 8, 128, 136, 512, 776, 784, -8, 2**31 - 8]), min_size=5, max_size=5),
    st.binary(),
)
@example([776, 136, 512, 128, 8], bytes(4000))
def test_no_content_of_the_file_causes_a_read_outside_it(lengths, content):
    header = struct.pack("<6i3qi", 512, *lengths, 0, 0, 0, 0).ljust(128, b"\0")

    for data in (content, header + content):
        buffer = AtomicBuffer(data)
        try:
            file = CncFile.decode("cnc.dat", buffer)
        except CncError:
            continue
        assert file.layout.end_of_sections <= buffer.capacity


def test_the_file_of_a_real_driver_is_read_as_recorded(tmp_path):
    file = CncFile.open(recorded_file(tmp_path), read_only=True)

    assert file.version == RECORDED["cnc_version"]
    assert file.layout.to_driver_length == RECORDED["to_driver_buffer_length"]
    assert file.layout.to_clients_length == RECORDED["to_clients_buffer_length"]
    assert file.layout.counters_metadata_length == RECORDED["counter_metadata_buffer_length"]
    assert file.layout.counters_values_length == RECORDED["counter_values_buffer_length"]
    assert file.layout.error_log_length == RECORDED["error_log_buffer_length"]
    assert file.client_liveness_timeout_ns == RECORDED["client_liveness_timeout_ns"]
    assert file.start_timestamp_ms == RECORDED["start_timestamp_ms"]
    assert (file.pid, file.page_size) == (RECORDED["pid"], RECORDED["file_page_size"])
    assert file.layout.end_of_sections == RECORDED["end_of_sections"]
    assert file.layout.file_length == RECORDED["file_length"] == file.buffer.capacity
    for name, section in RECORDED["sections"].items():
        assert getattr(file.layout, f"{name}_offset") == section["offset"]
        assert getattr(file, name).capacity == section["length"]


def test_the_header_of_a_real_driver_is_reproduced_byte_for_byte(tmp_path, path):
    recorded = CncFile.open(recorded_file(tmp_path), read_only=True)
    layout = CncLayout.of(
        to_driver_length=recorded.layout.to_driver_length,
        to_clients_length=recorded.layout.to_clients_length,
        counters_values_length=recorded.layout.counters_values_length,
        error_log_length=recorded.layout.error_log_length,
        page_size=recorded.page_size,
    )

    file = CncFile.create(
        path,
        layout,
        client_liveness_timeout_ns=recorded.client_liveness_timeout_ns,
        start_timestamp_ms=recorded.start_timestamp_ms,
        pid=recorded.pid,
        fill=False,
    )
    file.publish()

    assert file.buffer.capacity == recorded.buffer.capacity
    assert file.buffer.get_bytes(0, 128) == recorded.buffer.get_bytes(0, 128)


def test_a_folder_in_place_of_the_file_cannot_be_opened(tmp_path):
    with pytest.raises(StorageError, match="not a regular file"):
        CncFile.open(tmp_path, read_only=True)
