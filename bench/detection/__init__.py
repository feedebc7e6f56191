"""How well gaps are detected: generated histories with outages of known length."""
