"""Frames, commands and responses: codecs without a clock or a socket."""
