"""Replicas that are to be compared must be in the evidence, and complete.

Of kind coverage: what was found about other replicas stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring.inputs.evidence import REPLICA_LOG
from krt_scoring.inputs.reasons import REPLICA_ANOMALIES, Reason
from krt_scoring.inputs.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from krt_scoring.history.replicas import Partition
    from krt_scoring.inputs.bundle_files import Inspection


def check(replicas: Sequence[Partition], inspection: Inspection) -> Iterator[Reason]:
    """Yield ``ReplicaNotDumped`` for each replica in sync, ``RowsMissing`` for their rows."""
    for item in replicas:
        dumped = {replica.broker: replica for replica in item.replicas}
        for broker in item.isr if item.settled else ():
            subject = f"{item.topic}-{item.partition} on broker {broker}"
            found = dumped.get(broker)
            if found is None:
                message = (
                    "the replica is in sync, but its log is not in the evidence; the test's "
                    "condition ReplicasDumped says why"
                )
                yield Reason("coverage", "ReplicaNotDumped", subject, message)
            elif found.problem:
                message = f"its log is not complete in the evidence: {found.problem}"
                yield Reason("coverage", "ReplicaNotDumped", subject, message)
    expected = sum(replica.rows for item in replicas for replica in item.replicas)
    in_bundle = inspection.rows.get(REPLICA_LOG, 0)
    if in_bundle < expected:
        message = (
            f"replica_log/ holds {in_bundle} of {expected} offsets that were dumped: a file is "
            "missing. Restore the bundle from its copy and score it again"
        )
        scope = Scope(tables=(REPLICA_LOG,))
        yield Reason("evidence", "RowsMissing", REPLICA_LOG, message, REPLICA_ANOMALIES, scope)
