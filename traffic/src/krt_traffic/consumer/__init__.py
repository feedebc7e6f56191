"""Consumers: every delivery in the ledger before its offset is committed."""
