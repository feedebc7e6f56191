"""The evidence bundle: its schemas, read and written by every room.

A bundle is the directory ``<namespace>/<name>/<uid>/`` on the evidence volume. Traffic and
recorder write it, the scoring job adds what the brokers hold, and anyone can score it again
without a cluster. This package is the one definition of what lies in it.
"""

SCHEMA_VERSION = 2
"""Version of the bundle's layout, written to run.json and refused when it is another."""
