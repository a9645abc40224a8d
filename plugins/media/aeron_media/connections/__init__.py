"""What media have in common whose peers know connections, not Aeron frames."""
