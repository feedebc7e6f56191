"""Builds the Kubernetes objects of a run from its plan: pure functions over templates."""
