"""What is wrong with the faults of a plan, as far as it can be told before the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_operator.api.spec import Role
from krt_operator.errors import UserError
from krt_operator.faults.kafka_state import KafkaState
from krt_operator.faults.registry import ACTIONS
from krt_operator.faults.targets import find_candidates, target_count
from krt_operator.plan.overlaps import KNOWN, conflicts

if TYPE_CHECKING:
    from krt_operator.api.spec import Fault
    from krt_operator.plan.plan import Plan


def check(plan: Plan) -> None:
    """Refuse faults that could never be injected on this cluster.

    Raises:
        UserError: a zone without brokers, more targets than there are, or two faults that would be
            open on one member at once; names the field and the remedy.
    """
    for fault in plan.spec.faults:
        _zone(fault, plan)
        _enough(fault, plan)
        ACTIONS[fault.action].validate(fault, plan)
    found = conflicts(plan)
    if found:
        raise UserError("FaultsCollide", "spec.faults", "; ".join(found))


def _zone(fault: Fault, plan: Plan) -> None:
    zones = sorted({one.zone for one in plan.brokers})
    zone = fault.target.zone
    if fault.target.role is Role.RACK and zone is not None and zone not in zones:
        raise UserError(
            "NoSuchZone",
            f"spec.faults[{fault.name}].target.zone",
            f"no broker runs in zone {zone}; choose one of {', '.join(zones)}",
        )


def _enough(fault: Fault, plan: Plan) -> None:
    role = fault.target.role
    if role not in KNOWN or (role is Role.RACK and fault.target.zone is None):
        return
    there = find_candidates(fault, plan, KafkaState())
    asked = target_count(fault, there)
    if len(there) < asked:
        raise UserError(
            "TooFewTargets",
            f"spec.faults[{fault.name}].target",
            f"{role} asks for {asked}, there are {len(there)}; lower count or name others",
        )
