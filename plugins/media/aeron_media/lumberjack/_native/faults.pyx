"""Why a connection cannot go on; see `faults.pxd`, and `fault_texts` for the words."""
