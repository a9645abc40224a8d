"""Execution of agents: threads, invokers, idle strategies, and measurement of duty cycles."""
