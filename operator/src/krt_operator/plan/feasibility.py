"""Checks of a plan's faults that need no run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_operator.api.spec import Role
from krt_operator.errors import UserError
from krt_operator.faults.kafka_state import KafkaState
from krt_operator.faults.registry import ACTIONS
from krt_operator.faults.targets import find_candidates, target_count
from krt_operator.plan.overlaps import KNOWN, conflicts

if TYPE_CHECKING:
    from krt_operator.api.plan import Plan
    from krt_operator.api.spec import Fault


def check(plan: Plan) -> None:
    """Refuse faults that could never be injected on this cluster.

    Raises:
        UserError: a zone without brokers, too few targets, or two faults that would be open on one
            member at the same time; names the field and the remedy.
    """
    for fault in plan.spec.faults:
        _zone(fault, plan)
        _enough(fault, plan)
        ACTIONS[fault.action].validate(fault, plan)
    found = conflicts(plan)
    if found:
        raise UserError("FaultsCollide", "spec.faults", "; ".join(found))


def _zone(fault: Fault, plan: Plan) -> None:
    zones = sorted({broker.zone for broker in plan.brokers})
    zone = fault.target.zone
    if fault.target.role is Role.RACK and zone is not None and zone not in zones:
        raise UserError(
            "NoSuchZone",
            f"spec.faults[{fault.name}].target.zone",
            f"no broker runs in zone {zone}; choose one of {', '.join(zones)}",
        )


def _enough(fault: Fault, plan: Plan) -> None:
    role = fault.target.role
    if role is Role.BROKER and plan.metadata.referenced:
        # `krt_operator.phases.broker_pods` has asked the cluster for its brokers.
        return
    if role not in KNOWN or (role is Role.RACK and fault.target.zone is None):
        return
    available = find_candidates(fault, plan, KafkaState())
    requested = target_count(fault, available)
    if len(available) < requested:
        raise UserError(
            "TooFewTargets",
            f"spec.faults[{fault.name}].target",
            f"{requested} targets of role {role} are requested and {len(available)} exist; lower "
            "count, or name other targets",
        )
