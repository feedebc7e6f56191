"""How Spark is run: sessions, caching, concurrency, errors."""
