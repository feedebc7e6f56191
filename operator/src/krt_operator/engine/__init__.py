"""The engine: one pass over a test, and the seams it is built on; knows no phase."""
