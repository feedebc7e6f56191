"""Guards: one module for each reason a run can be Inconclusive, and a registry of them."""
