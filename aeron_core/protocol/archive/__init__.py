"""Messages of the Archive control protocol: codecs without clock or socket."""
