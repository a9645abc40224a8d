# Python's face only: interfaces are looked up when a channel is resolved.
