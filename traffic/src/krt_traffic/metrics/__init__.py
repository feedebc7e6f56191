"""Metrics for Prometheus: read from what a pod counts anyway, at the time of a scrape."""
