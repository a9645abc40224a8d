"""What a client receives with: subscriptions, their images, and the assembly of fragments."""
