from aeron_core.spi import hookimpl
from stranger_flow.compiled import CompiledFlowControl
from stranger_flow.plain import PlainFlowControl, RaisingFlowControl
from stranger_flow.version import AERON_CORE_SPI_VERSION  # noqa: F401


@hookimpl
def aeron_flow_controls():
    return {"plain": PlainFlowControl, "compiled": CompiledFlowControl, "raising": RaisingFlowControl}
