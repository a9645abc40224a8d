"""Shipping of growing files, line by line, and of log records to a publication, with saved offsets of the files.

    FileWatcher ─finds→ FollowedFile ─lines→ Shipper ─events→ publication ─confirmed position→ OffsetRegistry

Not here: the command (`cli.shipping.ship`), the handler of log records (`logging_handler`), and threads.
"""
