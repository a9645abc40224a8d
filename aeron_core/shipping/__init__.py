"""Ships growing files, line by line, to a publication, and saves the confirmed offset of each.

    FileWatcher ─finds→ FollowedFile ─lines→ Shipper ─events→ publication ─confirmed position→ OffsetRegistry

Not here: the command (`cli.shipping.ship`). Nothing here has a thread or a clock: the caller passes the time.
"""
