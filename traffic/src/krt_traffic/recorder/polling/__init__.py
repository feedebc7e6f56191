"""The history of a cluster that somebody else runs, by polling what its brokers tell any client.

Its strength is Observed: the leader epoch of a partition only grows, so equal epochs prove that
there was no election; an ISR that came and went between two polls leaves no trace.
"""
