"""The sender agent and the publications that it drives."""
