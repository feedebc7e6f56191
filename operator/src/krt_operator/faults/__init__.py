"""Faults: when they are due, whom they hit, what they do, and which observations verify them."""
