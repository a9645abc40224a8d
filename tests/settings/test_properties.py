import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeron_core.errors import ConfigurationError
from aeron_core.settings.properties import environment_name, parse_defines, parse_properties


def values_of(properties):
    return {name: one.value for name, one in properties.items()}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("aeron.dir=/tmp/a\n", {"AERON_DIR": "/tmp/a"}),
        ("aeron.dir = /tmp/a \n", {"AERON_DIR": "/tmp/a"}),
        ("  aeron.dir:/tmp/a", {"AERON_DIR": "/tmp/a"}),
        ("# comment\n! comment\n\n  # comment\naeron.x=1\n", {"AERON_X": "1"}),
        ("aeron.x=a=b:c\n", {"AERON_X": "a=b:c"}),
        ("aeron.x=1\r\naeron.y=2\r\n", {"AERON_X": "1", "AERON_Y": "2"}),
        ("aeron.x=a,\\\n    b,\\\n  c\naeron.y=2\n", {"AERON_X": "a,b,c", "AERON_Y": "2"}),
        ("aeron.x=a\\\n# comment\n  b\n", {"AERON_X": "ab"}),
        ("aeron.x=a\\", {"AERON_X": "a"}),
        ("aeron.x=\n", {"AERON_X": ""}),
        ("aeron.x=1\naeron.x=2\n", {"AERON_X": "2"}),
        ("aeron.x=#1\n", {"AERON_X": "#1"}),
    ],
)
def test_properties_become_environment_entries(text, found):
    assert values_of(parse_properties(text, "file a")) == found


@pytest.mark.parametrize("line", ["nonsense", "=x", ":x", " = x"])
def test_malformed_line_is_reported_with_its_number(line):
    with pytest.raises(ConfigurationError, match=r"\(file a, line 2\): must be name=value"):
        parse_properties(f"aeron.x=1\n{line}\n", "file a")


def test_defines_are_parsed_as_properties():
    assert parse_defines(["aeron.dir=/tmp/a", "AERON_X=1", "aeron.x=2"]) == {
        "AERON_DIR": ("aeron.dir", "/tmp/a"),
        "AERON_X": ("aeron.x", "2"),
    }


def test_property_names_map_to_environment_names():
    assert environment_name("aeron.term.buffer.length") == "AERON_TERM_BUFFER_LENGTH"


@given(
    st.dictionaries(
        st.from_regex(r"[A-Z]{1,8}(_[A-Z]{1,8}){0,3}", fullmatch=True),
        st.from_regex(r"[!-\[\]-~]([ -\[\]-~]{0,10}[!-\[\]-~])?", fullmatch=True),
    )
)
def test_written_properties_are_parsed_again(entries):
    text = "".join(f"{name.lower().replace('_', '.')}={value}\n" for name, value in entries.items())

    assert values_of(parse_properties(text, "file a")) == entries
