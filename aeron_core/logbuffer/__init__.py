"""Log buffers: the layout of streams in shared memory, and the code that appends, reads, sends and repairs them."""
