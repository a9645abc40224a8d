"""The one way a frame is begun in a log; the functions are in `frames.pxd`, so that callers inline them."""
