"""Replicas that were to be compared must be in the evidence, and whole.

Of kind coverage: what was found of others stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring.inputs.reasons import REPLICA_ANOMALIES, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.verdict.guards.facts import Facts


def check(facts: Facts) -> Iterator[Reason]:
    """Yield ``ReplicaNotDumped`` for each replica in sync, ``RowsMissing`` for their rows."""
    for one in facts.replicas:
        dumped = {replica.broker: replica for replica in one.replicas}
        for broker in one.isr if one.settled else ():
            subject = f"{one.topic}-{one.partition} on broker {broker}"
            found = dumped.get(broker)
            if found is None:
                message = (
                    "it is in sync and its log is not in the evidence: the condition "
                    "ReplicasDumped of the test says why"
                )
                yield Reason("coverage", "ReplicaNotDumped", subject, message)
            elif found.problem:
                message = f"its log is not whole in the evidence: {found.problem}"
                yield Reason("coverage", "ReplicaNotDumped", subject, message)
    told = sum(replica.rows for one in facts.replicas for replica in one.replicas)
    held = facts.inspection.rows.get("replica_log", 0)
    if held < told:
        message = f"replica_log/ holds {held} offsets of {told} that were dumped: a file is gone"
        yield Reason("evidence", "RowsMissing", "replica_log", message, REPLICA_ANOMALIES)
