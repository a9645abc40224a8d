"""Special values of owners, indexes and lengths; see `sentinels.pxd`."""
