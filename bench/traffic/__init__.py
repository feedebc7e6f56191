"""Compares our producer with kafka-producer-perf-test on one real local broker."""
