"""Writing of frames into a log; the functions are in `frames.pxd`, so that callers inline them."""
