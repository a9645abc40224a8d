"""Compiled parts of SP PAIR: wire constants, phases, reasons and limits of connections, tallies, drafts."""
