"""Schemas of metadata records, as Apache Kafka 4.4.0 ships them (kafka-metadata, common/metadata).

A newer schema reads older versions of its record. Without those of credentials.
"""
