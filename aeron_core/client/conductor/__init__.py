"""The client's side of the conversation with the driver: commands, answers, liveness."""
