"""A client of any media driver of the current protocol: it meets the driver in cnc.dat, never in its code."""
