"""The medium `udp`: unicast, multicast and multi-destination channels over IPv4 and IPv6."""
