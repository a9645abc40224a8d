# No C interface: interfaces are read only when a channel is resolved.
