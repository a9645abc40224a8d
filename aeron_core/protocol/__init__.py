"""Frames, commands and responses: codecs alone, without a clock or a socket."""
