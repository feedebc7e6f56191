"""The Kubernetes API as a pod of a run sees it: reads of its own namespace."""
