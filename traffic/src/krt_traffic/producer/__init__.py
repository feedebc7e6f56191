"""Producers: an open-loop schedule of sends, each with its outcome in the ledger."""
