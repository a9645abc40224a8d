"""Parts shared by media that use connections instead of Aeron frames: sockets, TLS, images."""
