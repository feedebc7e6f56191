"""Schemas of messages that kafka-python has not, as Apache Kafka 4.4.0 ships them.

They are from kafka-clients, folder common/message.
"""
