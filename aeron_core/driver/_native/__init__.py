"""Numbers that the driver's compiled and plain parts share."""
