"""The command ``krt``: watch a KafkaResilienceTest, run the scenarios, read their results."""
