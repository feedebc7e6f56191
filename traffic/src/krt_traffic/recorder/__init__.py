"""The recorder: events around the data, as Kubernetes and ZooKeeper report them."""
