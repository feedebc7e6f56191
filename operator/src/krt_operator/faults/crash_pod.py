"""CrashPod: SIGKILL to the process under test, from beside it, without a SIGTERM before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_operator.api.status import Proof, ProofKind
from krt_operator.errors import GoneError
from krt_operator.faults import ephemeral
from krt_operator.ports import Act

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from krt_operator.api.spec import Fault
    from krt_operator.api.status import FaultStatus
    from krt_operator.ports import Change, Json, Ports


def container_name(fault: str, attempt: int) -> str:
    """The ephemeral container of an attempt, the same whoever tries it again."""
    return f"krt-crash-{fault}-{attempt}"


def act(fault: Fault, entry: FaultStatus, pods: Mapping[str, Json]) -> Act:
    """Start the killing container in every target that is still there."""
    name = container_name(fault.name, entry.attempt)
    mode = "hold" if fault.down_for.micros else "release"

    def perform(ports: Ports) -> Sequence[Change]:
        for target in entry.targets:
            pod = pods.get(target.pod)
            if pod is None or pod["metadata"]["uid"] != target.uid:
                continue
            built = ephemeral.container(pod, name, "KILL", mode=mode)
            try:
                ports.cluster.add_ephemeral_container(target.pod, target.uid, built)
            except GoneError:
                # The outcome of this pass' look at the pods says it: without a report, no proof.
                continue
        return []

    return Act(f"kill the process of {', '.join(one.pod for one in entry.targets)}", perform)


def asked(entry: FaultStatus, pods: Mapping[str, Json]) -> bool:
    """Whether every target that is still there has this attempt's killing container."""
    name = container_name(entry.name, entry.attempt)
    there = [pods[one.pod] for one in entry.targets if one.pod in pods]
    return all(
        any(one["name"] == name for one in pod["spec"].get("ephemeralContainers") or [])
        for pod in there
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the killing containers of one attempt have come to.

    Attributes:
        pending: pods whose container has not ended.
        proofs: one for each process that was killed.
        failures: pod to what its container said.
        lost: pods that are gone without a report.
    """

    pending: tuple[str, ...]
    proofs: tuple[Proof, ...]
    failures: Mapping[str, str]
    lost: tuple[str, ...]

    @property
    def first(self) -> datetime | None:
        """When the first process was killed, by its node's clock."""
        return min((proof.at for proof in self.proofs), default=None)


def outcome(entry: FaultStatus, pods: Mapping[str, Json]) -> Outcome:
    """Read the reports of all attempts so far from the pods."""
    pending, proofs, lost = [], [], []
    failures: dict[str, str] = {}
    for target in entry.targets:
        pod = pods.get(target.pod)
        if pod is None or pod["metadata"]["uid"] != target.uid:
            lost.append(target.pod)
            continue
        reports = [
            ephemeral.report(pod, container_name(entry.name, attempt))
            for attempt in range(1, entry.attempt + 1)
        ]
        done = next((one for one in reports if one is not None and one.at is not None), None)
        if done is not None and done.at is not None:
            proofs.append(
                Proof(
                    kind=ProofKind.PROCESS_KILLED,
                    subject=target.pod,
                    at=done.at,
                    detail="SIGKILL, no SIGTERM before",
                )
            )
        elif reports and reports[-1] is not None:
            failures[target.pod] = reports[-1].message
        else:
            pending.append(target.pod)
    return Outcome(tuple(pending), tuple(proofs), failures, tuple(lost))
