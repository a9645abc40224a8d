"""Checks of a new subscription against those that use the same endpoint."""

import pytest

from aeron_core.driver.conductor.subscriptions.subscription_checks import option_text


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (False, "false"), (0, "0"), (64, "64"), ("Cubic", "Cubic"), (None, "not specified")],
)
def test_the_value_of_a_conflicting_option_is_stated_as_in_a_channel(value, text):
    assert option_text(value) == text
