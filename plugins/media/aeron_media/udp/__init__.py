"""The medium `udp`."""
