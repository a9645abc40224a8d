"""Wait operations, from the shortest to the longest: `pause`, `yield_thread`, `sleep_ns`."""
