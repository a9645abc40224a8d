"""The client's conductor: commands, responses of the driver, liveness."""
