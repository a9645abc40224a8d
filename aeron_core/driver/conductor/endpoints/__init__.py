"""Channel endpoints: sharing of sockets, their status and addresses."""
