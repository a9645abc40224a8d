"""What runs agents: threads, invokers, idle strategies, and what measures their duty cycles."""
