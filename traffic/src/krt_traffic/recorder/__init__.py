"""The recorder: what happened around the data, seen from Kubernetes and from ZooKeeper."""
