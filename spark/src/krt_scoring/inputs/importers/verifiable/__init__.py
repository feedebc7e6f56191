"""Kafka's own VerifiableProducer and VerifiableConsumer: JSON lines on their standard output.

The names and fields are those the tools of kafka-tools 3.9 publish (their class documentation);
``docs/how-to/foreign-histories.md`` says how to record them and what they cannot tell.
"""
