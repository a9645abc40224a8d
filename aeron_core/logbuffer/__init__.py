"""Log buffers: how streams lie in shared memory, and everything that appends, reads, sends or mends them."""
