"""The evidence bundle: its schemas, read and written by every room."""
