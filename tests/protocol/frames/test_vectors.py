"""Every frame of real drivers decodes to its known fields and encodes to the same bytes."""

import hashlib
import ipaddress
import json
from pathlib import Path

import pytest

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.protocol.frames import (
    DataHeader,
    ErrorFrame,
    FrameHeader,
    Nak,
    ResolutionFrame,
    ResponseSetup,
    Rttm,
    Setup,
    StatusMessage,
    validate,
    validate_data_packet,
)

FILES = sorted(Path(__file__).parents[2].glob("vectors/*.json"))
CODECS = {
    wire.TYPE_PAD: DataHeader,
    wire.TYPE_DATA: DataHeader,
    wire.TYPE_NAK: Nak,
    wire.TYPE_SM: StatusMessage,
    wire.TYPE_ERR: ErrorFrame,
    wire.TYPE_SETUP: Setup,
    wire.TYPE_RTTM: Rttm,
    wire.TYPE_RSP_SETUP: ResponseSetup,
}
# Entries of a captured frame that are not fields.
DERIVED = {
    "aligned_length",
    "alignment_bytes_zero",
    "bytes_on_wire",
    "datagram",
    "flag_names",
    "heartbeat",
    "offset",
    "padding_length",
    "payload_head_hex",
    "payload_hex",
    "payload_length",
    "payload_sha256",
    "payload_tail_hex",
    "type",
    "version",
}
pytestmark = pytest.mark.parametrize(
    "scenario", [pytest.param(json.loads(path.read_text()), id=path.stem) for path in FILES]
)


def packets(scenario):
    return [bytes.fromhex(datagram["hex"]) for datagram in scenario["datagrams"]]


def frames_of(scenario, *types):
    """Yield (expected, buffer, offset, remaining) for the frames of these types, by default all except RES."""
    contents = packets(scenario)
    for frame in scenario["frames"]:
        if frame["type_id"] in (types or CODECS):
            content = contents[frame["datagram"]]
            yield frame, AtomicBuffer(content), frame["offset"], len(content) - frame["offset"]


def expected_fields(frame):
    fields = {name: value for name, value in frame.items() if name not in DERIVED}
    frame_type = fields.pop("type_id")
    if frame_type in (wire.TYPE_DATA, wire.TYPE_PAD):
        fields["frame_type"] = frame_type
    if frame_type == wire.TYPE_SM:
        fields["has_group_tag"] = fields["group_tag"] is not None
        fields["group_tag"] = fields["group_tag"] or 0
    fields.pop("error_text", None)
    return fields


def test_validation_agrees_with_the_reference_driver(scenario):
    for datagram, content in zip(scenario["datagrams"], packets(scenario), strict=True):
        result = validate(AtomicBuffer(content), 0, len(content))

        assert (result >= 0) is datagram["valid_per_reference"]


def test_common_header_of_each_frame_is_read(scenario):
    header = FrameHeader()
    for frame, buffer, offset, remaining in frames_of(scenario, *CODECS, wire.TYPE_RES):
        assert header.decode(buffer, offset, remaining) == wire.FRAME_ACCEPTED

        assert header.fields() == {
            "frame_length": frame["frame_length"],
            "version": frame["version"],
            "flags": frame["flags"],
            "frame_type": frame["type_id"],
        }


def test_frames_decode_to_their_known_fields(scenario):
    for frame, buffer, offset, remaining in frames_of(scenario):
        codec = CODECS[frame["type_id"]]()

        assert codec.decode(buffer, offset, remaining) == wire.FRAME_ACCEPTED

        assert codec.fields() == expected_fields(frame)


def test_frames_encode_to_the_bytes_they_came_from(scenario):
    for frame, buffer, offset, remaining in frames_of(scenario):
        codec = CODECS[frame["type_id"]]()
        codec.decode(buffer, offset, remaining)
        target = AtomicBuffer.allocate(remaining)

        written = codec.encode(target, 0)

        is_data = frame["type_id"] in (wire.TYPE_DATA, wire.TYPE_PAD)
        assert written == (wire.DATA_HEADER_LENGTH if is_data else frame["frame_length"])
        assert target.get_bytes(0, written) == buffer.get_bytes(offset, written)


def test_data_packets_fill_a_term_as_far_as_their_frames_reach(scenario):
    for index, content in enumerate(packets(scenario)):
        frames = [frame for frame in scenario["frames"] if frame["datagram"] == index]
        if frames[0]["type"] not in ("DATA", "PAD"):
            continue
        last = frames[-1]
        end = last["term_offset"] + (last["frame_length"] + 31) // 32 * 32

        result = validate_data_packet(
            AtomicBuffer(content), 0, len(content), frames[0]["term_offset"], wire.TERM_MAX_LENGTH
        )

        assert result == end - frames[0]["term_offset"]


def test_payloads_lie_after_the_header(scenario):
    for frame, buffer, offset, _ in frames_of(scenario, wire.TYPE_DATA):
        payload = buffer.get_bytes(offset + wire.DATA_HEADER_LENGTH, frame["payload_length"])

        assert hashlib.sha256(payload).hexdigest() == frame["payload_sha256"]


def test_fields_of_real_frames_are_valid(scenario):
    for frame, buffer, offset, remaining in frames_of(scenario):
        codec = CODECS[frame["type_id"]]()
        codec.decode(buffer, offset, remaining)

        if isinstance(codec, (Setup, ErrorFrame)):
            assert codec.is_valid()
        if isinstance(codec, (Nak, StatusMessage)):
            assert codec.is_valid(wire.TERM_MAX_LENGTH)


def test_texts_of_errors_are_read(scenario):
    error = ErrorFrame()
    for frame, buffer, offset, remaining in frames_of(scenario, wire.TYPE_ERR):
        error.decode(buffer, offset, remaining)

        assert error.text == frame["error_text"]


def test_resolution_entries_decode_to_their_known_fields(scenario):
    for frame, buffer, offset, remaining in frames_of(scenario, wire.TYPE_RES):
        entries = ResolutionFrame.decode(buffer, offset, remaining).entries

        assert len(entries) == len(frame["entries"])
        for entry, expected in zip(entries, frame["entries"], strict=True):
            assert entry.name == expected["name"]
            assert entry.address == ipaddress.ip_address(expected["address"]).packed
            assert (entry.udp_port, entry.age_ms, entry.flags, entry.is_self, entry.encoded_length) == tuple(
                expected[name] for name in ("udp_port", "age_in_ms", "res_flags", "self", "entry_length")
            )


def with_padding_cleared(frame, content):
    """The reference driver leaves bytes of earlier packets in the padding after a name; here it is zero."""
    cleared = bytearray(content)
    for entry in frame["entries"]:
        end = entry["entry_offset"] + entry["entry_length"]
        name_offset = wire.RES_IP6_NAME_OFFSET if ":" in entry["address"] else wire.RES_IP4_NAME_OFFSET
        start = entry["entry_offset"] + name_offset + entry["name_length"]
        cleared[start:end] = bytes(end - start)
    return bytes(cleared)


def test_resolution_frames_encode_to_the_bytes_they_came_from_except_for_padding(scenario):
    for frame, buffer, offset, remaining in frames_of(scenario, wire.TYPE_RES):
        target = AtomicBuffer.allocate(remaining)

        written = ResolutionFrame.decode(buffer, offset, remaining).encode(target, 0)

        assert written == frame["frame_length"]
        assert target.get_bytes(0, written) == with_padding_cleared(frame, buffer.get_bytes(offset, written))
