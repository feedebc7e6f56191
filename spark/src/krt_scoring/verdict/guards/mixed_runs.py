"""Ledgers of another run in the bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring.inputs.reasons import BY_TABLE, Reason
from krt_scoring.verdict.guards.ended import TRAFFIC

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.verdict.guards.facts import Facts


def check(facts: Facts) -> Iterator[Reason]:
    """Yield ``MixedRuns`` for writers that this run's plan or pods do not know."""
    producers = {name for item in facts.run.writers for name in item.identities}
    consumers = {name for item in facts.run.consumers for name in item.identities}
    pods = facts.timeline.pod_uids(*TRAFFIC)
    for table, writers in sorted(facts.inspection.incarnations.items()):
        known = producers if table.startswith("produce") else consumers
        for identity, incarnation in sorted(writers):
            if identity not in known:
                message = f"{table}/ holds rows of {identity}, which the plan does not name"
            elif pods and incarnation not in pods:
                message = (
                    f"{table}/ holds rows of {identity} by pod {incarnation}, which was not a pod "
                    "of this run"
                )
            else:
                continue
            yield Reason("evidence", "MixedRuns", f"{table}/{identity}", message, BY_TABLE[table])
