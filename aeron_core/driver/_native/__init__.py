"""Constants that the driver's compiled and plain modules share, and keys of the networks of peers."""
