"""Native modules of the client: borrowed payloads, views of fragments, integer arguments."""
