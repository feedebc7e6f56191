"""The Kafka under test as the controller reads it: topics, leaders, ISRs, offsets, ZooKeeper."""
