"""The data source: recordings, selected, cut into tasks and read as Arrow batches."""
