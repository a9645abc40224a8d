"""Compiled parts of SP PAIR: wire constants, connection phases, tallies, drafts."""
