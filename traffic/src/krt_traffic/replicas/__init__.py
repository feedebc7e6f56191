"""The contents of a broker's replicas: the output of Kafka's DumpLogSegments as evidence."""
