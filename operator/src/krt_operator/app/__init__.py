"""The program: Kopf handlers, settings, metrics, retries, expiry."""
