"""Subscriptions and images: registrars, lifecycles, receive destinations."""
