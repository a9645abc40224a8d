import pytest

from aeron_core.protocol.frames import Nak

TERM_LENGTH = 65536


@pytest.mark.parametrize(
    ("term_offset", "length"), [(0, 0), (0, TERM_LENGTH), (TERM_LENGTH - 32, 32), (64, 1)]
)
def test_a_gap_within_the_term_is_valid(term_offset, length):
    assert Nak(term_offset=term_offset, length=length).is_valid(TERM_LENGTH)


@pytest.mark.parametrize(
    ("term_offset", "length"),
    [
        (-32, 32),
        (16, 32),
        (TERM_LENGTH, 0),
        (0, -1),
        (32, TERM_LENGTH),
        (32, 2**31 - 1),
        (-(2**31), 2**31 - 1),
    ],
)
def test_a_gap_outside_the_term_is_invalid(term_offset, length):
    assert not Nak(term_offset=term_offset, length=length).is_valid(TERM_LENGTH)
