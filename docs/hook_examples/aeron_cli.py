"""Command `aeron-core hello`."""

from aeron_core.spi import hookimpl


@hookimpl
def aeron_cli(app):
    @app.command("hello")
    def hello(name: str = "world"):
        """Print a greeting."""
        print(f"hello, {name}")
