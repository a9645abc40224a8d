"""Print the directory of each driver of this process that starts."""

from aeron_core.spi import hookimpl


@hookimpl
def aeron_driver_started(driver):
    print(f"started {driver.aeron_dir}")
