"""Scores generated histories and compares time and memory with a plain-Python check of the same."""
