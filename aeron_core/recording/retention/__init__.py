"""Leases, retention policies, and purging of segments."""
