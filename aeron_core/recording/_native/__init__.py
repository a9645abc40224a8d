"""Numbers that the compiled and the plain parts of recordings share."""
