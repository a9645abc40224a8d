"""Frames of Lumberjack in bytes: parsed for readers, built for writers, without socket or clock."""
