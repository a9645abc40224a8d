"""Protection of UDP channels: datagrams that are encrypted, authenticated, and accepted once."""
