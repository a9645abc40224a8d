"""Compiled parts of the Lumberjack codec, which use pointers and C libraries, and its constants."""
