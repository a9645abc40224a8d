"""Commands around the driver process: `driver`, `settings`, `plugins`, and the metrics endpoint."""
