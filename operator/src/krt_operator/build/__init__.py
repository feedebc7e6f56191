"""From the plan to Kubernetes objects: pure functions over templates, no client, no clock."""
