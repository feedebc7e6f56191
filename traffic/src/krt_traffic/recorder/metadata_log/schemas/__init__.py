"""Schemas of metadata records as Apache Kafka ships them (kafka-metadata, common/metadata)."""
