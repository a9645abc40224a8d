"""Commands that read or clean the files of a driver, alive or dead: counters, errors, losses, streams, logs."""
