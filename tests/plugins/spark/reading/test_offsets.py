"""Offsets in the format of checkpoints."""

import json

import pytest
from pyspark_aeron.reading.offsets import Offset

from aeron_core.errors import DataLossError, RecordingError


def test_equal_offsets_have_equal_text():
    first = Offset("u", {10: 64, 2: 32}).to_json()
    second = Offset("u", {2: 32, 10: 64}).to_json()

    assert json.dumps(first) == json.dumps(second) == '{"archive": "u", "pos": {"2": 32, "10": 64}, "v": 1}'


def test_an_offset_can_be_parsed_back():
    offset = Offset("u", {2: 32, 10: 64})

    assert Offset.parse(json.loads(json.dumps(offset.to_json())), "u") == offset


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"archive": "u", "pos": {}, "v": 2}, "must be one of the format aeron, version 1"),
        ({"logOffset": 3}, "must be one of the format aeron"),
        ({"archive": "other", "pos": {}, "v": 1}, "is of archive other, the query reads archive u"),
        (
            {"archive": "u", "pos": {"x": 1}, "v": 1},
            "positions by recording id, numbers from 0 to",
        ),
        ({"archive": "u", "v": 1}, "positions by recording id, numbers from 0 to"),
        ({"archive": "u", "pos": [1], "v": 1}, "positions by recording id, numbers from 0 to"),
    ],
)
def test_the_checkpoint_of_another_query_is_refused_with_a_remedy(document, message):
    with pytest.raises(RecordingError, match=message):
        Offset.parse(document, "u")


@pytest.mark.parametrize("position", [-1, 2**63, float("inf"), 1.5, "7", True, None])
def test_a_position_that_no_recording_has_is_refused(position):
    with pytest.raises(
        RecordingError, match=f"numbers from 0 to {2**63 - 1}; use another checkpointLocation"
    ):
        Offset.parse({"archive": "u", "pos": {"1": position}, "v": 1}, "u")


def test_a_refused_document_is_shown_in_part():
    with pytest.raises(RecordingError) as raised:
        Offset.parse({"archive": "u", "pos": {"1": "x" * 10_000}, "v": 1}, "u")

    assert len(str(raised.value)) < 500


def test_a_lower_position_is_refused():
    with pytest.raises(DataLossError, match="recording 1 ends at 32, before the position 64"):
        Offset("u", {1: 32}).check_not_before(Offset("u", {1: 64}))


def test_a_deleted_recording_keeps_its_position():
    Offset("u", {}).check_not_before(Offset("u", {1: 64}))
