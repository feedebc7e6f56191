"""Producers, consumers and the recorder that run inside the cluster."""
