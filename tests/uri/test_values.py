import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeron_core.errors import ConfigurationError
from aeron_core.uri import values


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("0", 0),
        ("1408", 1408),
        ("64k", 65536),
        ("64K", 65536),
        ("16m", 16 << 20),
        ("16M", 16 << 20),
        ("1g", 1 << 30),
        ("1G", 1 << 30),
        ("0008", 8),
        ("9007199254740991k", 9007199254740991 << 10),
        ("8796093022207m", 8796093022207 << 20),
        ("8589934591g", 8589934591 << 30),
        (str(2**63 - 1), 2**63 - 1),
    ],
)
def test_size_counts_in_powers_of_1024(text, length):
    assert values.parse_size(text) == length


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "k",
        "-1",
        "+1",
        "1.5k",
        "64kb",
        "64 k",
        " 64k",
        "64k ",
        "64k\n",
        "1t",
        "0x10",
        "١٢",
        "9007199254740992k",
        "8796093022208m",
        "8589934592g",
        str(2**63),
        "9" * 5000,
    ],
)
def test_a_text_that_is_not_completely_a_size_is_rejected(text):
    with pytest.raises(ConfigurationError, match="must be a whole decimal number of bytes"):
        values.parse_size(text)


@pytest.mark.parametrize(
    ("text", "duration_ns"),
    [
        ("0", 0),
        ("10", 10),
        ("10ns", 10),
        ("5us", 5_000),
        ("100ms", 100_000_000),
        ("5s", 5_000_000_000),
        ("5S", 5_000_000_000),
        ("100Ms", 100_000_000),
        ("9223372036s", 9_223_372_036_000_000_000),
        ("15min", 900_000_000_000),
        ("15Min", 900_000_000_000),
        ("12h", 43_200_000_000_000),
        ("7d", 604_800_000_000_000),
        ("106751d", 9_223_286_400_000_000_000),
    ],
)
def test_duration_counts_in_nanoseconds(text, duration_ns):
    assert values.parse_duration_ns(text) == duration_ns


@pytest.mark.parametrize(
    "text",
    ["9223372037s", "9223372036855ms", "106752d", "2562048h", "153722868min", str(2**63), "9" * 5000 + "s"],
)
def test_a_duration_beyond_int64_becomes_its_maximum(text):
    assert values.parse_duration_ns(text) == 2**63 - 1


@pytest.mark.parametrize(
    "text", ["", "s", "-5s", "5m", "5mx", "5sec", "5 s", "5mins", "5hours", "5w", "1.5s", "5s ", "5u", "5n"]
)
def test_a_text_that_is_not_completely_a_duration_is_rejected(text):
    with pytest.raises(
        ConfigurationError, match="must be a whole decimal number with a unit ns, us, ms, s, min, h or d"
    ):
        values.parse_duration_ns(text)


@pytest.mark.parametrize(("text", "value"), [("true", True), ("false", False)])
def test_bool_is_true_or_false(text, value):
    assert values.parse_bool(text) is value


@pytest.mark.parametrize("text", ["", "True", "1", "on", "trueish", "yes"])
def test_text_other_than_a_bool_is_rejected(text):
    with pytest.raises(ConfigurationError, match="must be true or false"):
        values.parse_bool(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", True),
        ("on", True),
        ("true", True),
        ("truely", True),
        ("0", False),
        ("off", False),
        ("false ", False),
    ],
)
def test_an_environment_bool_is_parsed_from_its_prefix(text, value):
    assert values.parse_environment_bool(text) is value


@pytest.mark.parametrize("text", ["", "yes", "TRUE", "no"])
def test_text_other_than_an_environment_bool_is_rejected(text):
    with pytest.raises(ConfigurationError, match="must start with"):
        values.parse_environment_bool(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("-1", -1), ("+7", 7), ("0x1F", 31), ("-0x10", -16), ("010", 8), (str(2**31 - 1), 2**31 - 1)],
)
def test_integers_are_parsed_in_c_notation(text, value):
    assert values.parse_int32(text) == value
    assert values.parse_int64(text) == value


@pytest.mark.parametrize("text", ["", "0x", "08", "1_000", "1.0", " 1", "1 ", "--1", "abc", "1k", "9" * 5000])
def test_integers_must_be_consumed_to_the_end(text):
    with pytest.raises(ConfigurationError, match="must be a decimal, 0x or 0"):
        values.parse_int32(text)
    with pytest.raises(ConfigurationError, match="must be a decimal, 0x or 0"):
        values.parse_int64(text)


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, 2**63 - 1])
def test_an_int32_rejects_values_out_of_range(value):
    with pytest.raises(ConfigurationError, match="from -2147483648 to 2147483647"):
        values.parse_int32(str(value))
    assert values.parse_int64(str(value)) == value


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1])
def test_an_int64_rejects_values_out_of_range(value):
    with pytest.raises(ConfigurationError):
        values.parse_int64(str(value))


@pytest.mark.parametrize(
    ("duration_ns", "text"),
    [
        (0, "0ns"),
        (1, "1ns"),
        (1_000, "1us"),
        (1_500, "1500ns"),
        (100_000_000, "100ms"),
        (5_000_000_000, "5s"),
        (1_500_000_000, "1500ms"),
    ],
)
def test_a_duration_is_formatted_in_its_largest_whole_unit(duration_ns, text):
    assert values.format_duration_ns(duration_ns) == text


@pytest.mark.parametrize(
    ("length", "text"),
    [(0, "0"), (1408, "1408"), (65536, "64k"), (3 << 19, "1536k"), (16 << 20, "16m"), (1 << 30, "1g")],
)
def test_a_size_is_formatted_in_its_largest_whole_unit(length, text):
    assert values.format_size(length) == text


@given(st.integers(0, 2**63 - 1))
def test_formatted_sizes_and_durations_are_parsed_back(number):
    assert values.parse_size(values.format_size(number)) == number
    assert values.parse_duration_ns(values.format_duration_ns(number)) == number


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from(["{}", "{:#x}"]))
def test_formatted_integers_are_parsed_back(number, form):
    assert values.parse_int64(form.format(number)) == number


def test_the_message_quotes_the_value_and_truncates_a_long_one():
    with pytest.raises(ConfigurationError, match="'64kb': must be"):
        values.parse_size("64kb")
    with pytest.raises(ConfigurationError) as caught:
        values.parse_size("x" * 4000)
    assert len(str(caught.value)) < 250
