"""What the packages share: the plan, control states, labels, durations, and the evidence bundle.

A bundle is the directory ``<namespace>/<name>/<uid>/`` on the evidence volume. Traffic and
recorder write it, the scoring job adds what the brokers hold, and anyone can score it again
without a cluster. Every name and rule that two packages must agree on is defined here, once.
Only `ledger` and `schemas` need pyarrow; everything else needs the standard library alone.
"""

SCHEMA_VERSION = 2
"""Version of the plan and of the bundle's layout. Any other version is refused."""
