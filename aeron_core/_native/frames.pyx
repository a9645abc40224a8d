"""The one way a frame is begun in a log; the function is in `frames.pxd`, so that callers inline it."""
