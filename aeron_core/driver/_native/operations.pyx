"""The numbers of the operations that cross between the conductor and the agents; see `operations.pxd`."""
