"""Base tables shared by the rules, derived from the history once."""
