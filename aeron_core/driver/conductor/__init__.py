"""The conductor agent: client commands, lifecycles, timers, names, liveness."""
