"""What the client does with raw pointers: borrowed payloads and views of fragments."""
