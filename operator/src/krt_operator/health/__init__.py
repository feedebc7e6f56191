"""The state of the cluster under test and of its traffic, as pods and Kafka report it."""
