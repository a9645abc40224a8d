"""Conversion of values that come from Python or a TOML file instead of text."""

import pytest

from aeron_core.errors import ConfigurationError
from aeron_core.settings import DriverSettings


@pytest.mark.parametrize("rate", ["nan", "often", None, True])
def test_a_loss_rate_that_is_not_a_number_is_rejected(rate):
    with pytest.raises(ConfigurationError, match=r"must be a number from 0\.0 to 1\.0"):
        DriverSettings(debug_send_data_loss_rate=rate)


@pytest.mark.parametrize("rate", ["0.25", 0.25])
def test_a_loss_rate_may_be_text_or_a_number(rate):
    assert DriverSettings(debug_send_data_loss_rate=rate).debug_send_data_loss_rate == 0.25


@pytest.mark.parametrize("names", [7, ["a", 7]])
def test_a_list_of_texts_rejects_other_values(names):
    with pytest.raises(ConfigurationError, match="must be a list of texts separated by commas"):
        DriverSettings(resolver_bootstrap_neighbors=names)
