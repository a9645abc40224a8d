# cython: freethreading_compatible=True
"""Special values of owners, indexes and lengths; see `sentinels.pxd`."""
