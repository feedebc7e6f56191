"""Ledgers of another run in the bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring.inputs.reasons import BY_TABLE, Reason
from krt_scoring.verdict.guards.explained_exits import TRAFFIC

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.inputs.recording import Recording


def check(recording: Recording) -> Iterator[Reason]:
    """Yield ``MixedRuns`` for writers that this run's plan or pods do not know."""
    producers = {name for item in recording.run.writers for name in item.identities}
    consumers = {name for item in recording.run.consumers for name in item.identities}
    pods = recording.timeline.pod_uids(*TRAFFIC)
    for table, writers in sorted(recording.inspection.incarnations.items()):
        known = producers if table.startswith("produce") else consumers
        for identity, incarnation in sorted(writers):
            if identity not in known:
                message = (
                    f"{table}/ holds rows of {identity}, which is not in the plan. Remove the "
                    "files of the other run from the bundle"
                )
            elif pods and incarnation not in pods:
                message = (
                    f"{table}/ holds rows of {identity} by pod {incarnation}, which was not a pod "
                    "of this run. Remove the files of the other run from the bundle"
                )
            else:
                continue
            scope = recording.inspection.scope(table, incarnation)
            subject = f"{table}/{identity}"
            yield Reason("evidence", "MixedRuns", subject, message, BY_TABLE[table], scope)
