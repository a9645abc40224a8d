"""The format of an archive on disk: its files, their names, and the recordings in them."""
