"""The command ``krt``: run a KafkaResilienceTest, read its results, run the scenarios."""
