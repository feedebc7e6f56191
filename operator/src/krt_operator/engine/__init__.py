"""The engine: one pass over a test, and the protocols and values it uses; it knows no phase."""
