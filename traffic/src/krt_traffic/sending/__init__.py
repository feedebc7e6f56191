"""Sends and the outcome of each: shared by producers and transforming consumers."""
