"""Unavailability as numbers: gaps of each partition and direction, and what they are made of."""
