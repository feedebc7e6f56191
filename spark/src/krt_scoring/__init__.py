"""Scoring of an evidence bundle on Spark, and the report."""
