"""Evidence and report of a test, copied through the API server."""
