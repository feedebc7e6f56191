"""``spec.expect`` evaluated: one module for each kind of expectation, and a registry of them."""
