"""The default error handler."""

import pytest

from aeron_core.client.handlers import log_error
from aeron_core.errors import ClientTimeoutError, DriverTimeoutError


def _raised(error):
    try:
        raise error
    except Exception as caught:
        return caught


@pytest.mark.parametrize("kind", [DriverTimeoutError, ClientTimeoutError])
def test_the_shutdown_of_a_driver_is_logged_in_one_line(caplog, kind):
    log_error(_raised(kind("it has ended")))

    # Compare the record, not its text: other libraries change the format of handlers.
    (record,) = caplog.records
    assert record.getMessage() == f"{kind.__name__}: it has ended"
    assert record.exc_info is None


def test_an_exception_of_a_program_s_handler_is_logged_with_its_traceback(caplog):
    error = _raised(KeyError("orders"))
    log_error(error)

    (record,) = caplog.records
    assert record.exc_info == (KeyError, error, error.__traceback__)
