"""Where a run's pods write evidence: tables, lines and documents of one bundle."""
