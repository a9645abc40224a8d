from aeron_core._native cimport wire

AERON_CORE_SPI_VERSION = wire.SPI_VERSION
