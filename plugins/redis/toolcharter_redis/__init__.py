"""A store in Redis."""
