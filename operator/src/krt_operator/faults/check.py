"""What is wrong with the faults of a plan, as far as it can be told before the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_operator.api.spec import Role
from krt_operator.errors import UserError
from krt_operator.faults.schedule import conflicts

if TYPE_CHECKING:
    from krt_operator.plan import Plan


def check(plan: Plan) -> None:
    """Refuse faults that could never be injected on this cluster.

    Raises:
        UserError: a zone without brokers, or two faults that would be open on one member at once;
            names the field and the remedy.
    """
    zones = sorted({one.zone for one in plan.brokers})
    for fault in plan.spec.faults:
        zone = fault.target.zone
        if fault.target.role is Role.RACK and zone is not None and zone not in zones:
            raise UserError(
                "NoSuchZone",
                f"spec.faults[{fault.name}].target.zone",
                f"no broker runs in zone {zone}; choose one of {', '.join(zones)}",
            )
    found = conflicts(plan.spec)
    if found:
        raise UserError("FaultsCollide", "spec.faults", "; ".join(found))
