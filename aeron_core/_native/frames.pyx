"""Writing frames into a log and reading their lengths; the functions are in `frames.pxd`, for inlining."""
