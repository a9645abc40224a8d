"""An archive on disk: its files, their names and formats, and the recordings in them."""
