"""The conservation identity of the ledgers against the settled log."""
