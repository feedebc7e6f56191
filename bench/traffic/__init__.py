"""Compares our producer with those of Kafka on one real local broker."""
