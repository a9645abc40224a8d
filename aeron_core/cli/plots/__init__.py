"""Plots: of recorded counters, of latencies, and of losses."""
