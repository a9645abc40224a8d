"""Files that grow, line by line, to a publication, and how far each has come.

    FileWatcher ─finds→ FollowedFile ─lines→ Shipper ─events→ publication ─confirmed position→ OffsetRegistry

Not here: the command (`aeron_core.cli.shipping`). Nothing here has a thread or a clock: who calls says how late it is.
"""
