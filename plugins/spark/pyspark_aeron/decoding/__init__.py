"""Decoders of binary payloads, batch by batch in Arrow."""
