# cython: freethreading_compatible=True
"""Arithmetic of positions, terms and frames; the functions are in `positions.pxd`, so that callers inline them.

A position is the number of bytes of a stream since its first term began. Nothing here checks its arguments:
`term_length` is a power of two that `check_term_length` accepted, `max_payload_length` is positive, alignments are
powers of two.

Source: aeron_logbuffer_descriptor.h.
"""
