"""The medium `ipc`: shared memory."""
