"""Messages of documented exceptions."""


def check_text(error: Exception, max_length: int = 400) -> None:
    """Assert that an exception has a message, and that bytes of a peer have not made it long."""
    assert 0 < len(str(error)) <= max_length
