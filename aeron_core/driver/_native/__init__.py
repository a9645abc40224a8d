"""Numbers, and the network keys of peers, that the driver's compiled and plain parts share."""
