"""Channel URIs: parsing, building, typed parameters, addresses, sizes and durations."""
