"""Print the directory of each driver of this process that closes."""

from aeron_core.spi import hookimpl


@hookimpl
def aeron_driver_closed(driver):
    print(f"closed {driver.aeron_dir}")
