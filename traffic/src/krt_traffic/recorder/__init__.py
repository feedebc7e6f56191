"""The recorder: events around the data, as Kubernetes and ZooKeeper report them."""

CLIENT_ID = "krt-recorder"
"""What brokers and controllers call the recorder in their logs and quotas."""
