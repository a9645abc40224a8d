"""Keys that media with connections share."""

import pytest
from aeron_media.lumberjack.parameters import LumberjackParameters
from aeron_media.sp.parameters import PairParameters

from aeron_core.errors import ChannelUriError
from aeron_core.uri.channel_uri import ChannelUri


def parse(model, content):
    return model.parse(ChannelUri.parse(content.decode("utf-8", "surrogateescape")))


@pytest.mark.parametrize(
    ("model", "content", "key"),
    [
        (PairParameters, b"aeron:sp?endpoint=127.0.0.1:\xe6555|mode=listen", "endpoint"),
        (PairParameters, b"aeron:sp?endpoint=127.0.0.1:5555|mode=\xe6", "mode"),
        (LumberjackParameters, b"aeron:lumberjack?endpoint=127.0.0.1:5044|max-memory=\xe6", "max-memory"),
    ],
)
def test_bytes_that_are_not_utf_8_are_refused_in_the_value_of_a_key(model, content, key):
    with pytest.raises(ChannelUriError, match=f"{key}=.*must be UTF-8 text"):
        parse(model, content)


def test_bytes_that_are_not_utf_8_are_ignored_in_other_keys():
    params = parse(LumberjackParameters, b"aeron:lumberjack?endpoint=127.0.0.1:5044|alias=\xe6")

    assert params.max_memory > 0
