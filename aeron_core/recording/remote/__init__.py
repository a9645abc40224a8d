"""Uploads finished segments to an archive elsewhere."""
