"""Commands that exchange messages through a driver: `pub`, `sub`, `ping`, `pong`, `device`."""
