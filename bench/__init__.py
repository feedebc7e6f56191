"""Benchmarks: the scoring of generated histories, and the traffic beside Kafka's own tool."""
