"""The Kafka under test as the controller sees it: topics, leaders, ISRs, offsets, ZooKeeper."""
