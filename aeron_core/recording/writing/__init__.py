"""The one writer of an archive: recorder, recording writer, recovery, and the appender of batches."""
