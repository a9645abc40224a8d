"""Client of any media driver of the current protocol: communicates with it through cnc.dat and log buffers only."""
