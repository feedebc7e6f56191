"""What a configuration permits, derived from settings and from what really happened."""
