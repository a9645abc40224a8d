"""Client of any media driver of the current protocol: shares the file cnc.dat with it, and no code."""
