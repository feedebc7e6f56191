"""What a broker's replicas hold: the output of Kafka's DumpLogSegments, turned into evidence."""
