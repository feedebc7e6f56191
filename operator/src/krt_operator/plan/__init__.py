"""From a resolved spec to the plan: placement, assignment, feasibility."""
