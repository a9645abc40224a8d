"""Ships growing files, line by line, and log records to a publication; saves confirmed offsets of files.

    FileWatcher ─finds→ FollowedFile ─lines→ Shipper ─events→ publication ─confirmed position→ OffsetRegistry

Not here: the command (`cli.shipping.ship`), the handler of log records (`logging_handler`), and threads.
"""
