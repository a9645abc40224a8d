"""The command `ship`, which publishes the lines of growing files."""
