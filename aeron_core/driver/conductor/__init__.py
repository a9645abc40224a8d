"""The conductor agent: client commands, resources and their lifecycles, names, timers, liveness."""
