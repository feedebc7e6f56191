"""The controller of KafkaResilienceTest resources."""
