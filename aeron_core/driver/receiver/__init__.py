"""The receiver agent and the images that it drives."""
