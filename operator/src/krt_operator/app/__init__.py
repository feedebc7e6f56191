"""The program: how the controller starts, what Kopf calls, settings, metrics, expiry."""
