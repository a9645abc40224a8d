# Nothing for other compiled modules: network interfaces are read only when a channel is resolved.
