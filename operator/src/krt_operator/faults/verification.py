"""Whether the observations of a fault verify it, by the contract's table `IMPLIED`."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from krt_contract.faults import IMPLIED, VERIFIED_BY_ANY_TARGET, Action, ObservationKind
from krt_operator.api.spec import Role
from krt_operator.faults.partitions import target_partition_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krt_operator.api.plan import Plan
    from krt_operator.api.spec import Fault
    from krt_operator.api.status import FaultStatus, Observation

BEFORE_THE_EFFECT: Final[Mapping[Action, ObservationKind]] = MappingProxyType(
    {
        Action.LOSE_DISK: ObservationKind.PROCESS_KILLED,
        Action.REASSIGN: ObservationKind.REASSIGNMENT_ACCEPTED,
    }
)
"""Action to what is observed of its injection where the effect that verifies it comes later."""


@dataclass(frozen=True)
class Verification:
    """Whether a fault had the effect that its action implies, and what shows it.

    The fields have the names of the fault's status fields that they replace.
    """

    verified: bool
    observations: tuple[Observation, ...]


def verify(
    fault: Fault, entry: FaultStatus, plan: Plan, observations: Iterable[Observation]
) -> Verification:
    """Add observations to those in the journal and decide whether they verify the fault.

    Of each kind and subject, the first observation is kept. The fault is verified when one of the
    kinds that its action implies was observed of every target, or of any of them where the
    resource does not say which ones are hit.
    """
    known = {(seen.kind, seen.subject): seen for seen in entry.observations}
    for observation in observations:
        known.setdefault((observation.kind, observation.subject), observation)
    implied = IMPLIED[fault.action]
    subjects = target_names(fault, entry, plan)
    seen = [any((kind, subject) in known for kind in implied) for subject in subjects]
    enough = any if fault.action in VERIFIED_BY_ANY_TARGET else all
    verified = bool(subjects) and enough(seen)
    return Verification(verified=verified, observations=tuple(known.values()))


def shows_injection(fault: Fault, entry: FaultStatus) -> bool:
    """Whether an observation shows that the fault was injected into any of its targets."""
    kinds = {*IMPLIED[fault.action], BEFORE_THE_EFFECT.get(fault.action)}
    return any(observation.kind in kinds for observation in entry.observations)


def target_names(fault: Fault, entry: FaultStatus, plan: Plan) -> list[str]:
    """The targets as observations name them: pods, or partitions."""
    if fault.target.role is Role.PARTITION:
        return target_partition_names(fault, plan)
    return [target.pod for target in entry.targets]


def refused_evictions(entry: FaultStatus) -> frozenset[str]:
    """Pods that the fault left running because their disruption budget refused the eviction."""
    return frozenset(
        observation.subject
        for observation in entry.observations
        if observation.kind is ObservationKind.EVICTION_REFUSED
    )
