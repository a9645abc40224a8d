"""The numbers of the operations that cross between the conductor and the other agents; see `operations.pxd`."""
