"""What must be applied so that held members are down and all others may run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_operator import names
from krt_operator.build.members import member

if TYPE_CHECKING:
    from krt_operator.engine.progress import Observed
    from krt_operator.engine.views import Json
    from krt_operator.plan.plan import Plan


def stateful_sets(plan: Plan, world: Observed, held: frozenset[str], pull: str) -> list[Json]:
    """The StatefulSets whose replicas differ from what the holds ask for."""
    found = []
    for one in plan.members:
        wanted = 0 if one.member in held else 1
        there = world.stateful_sets.get(names.of_member(plan.name, one.member))
        if there is not None and there["spec"].get("replicas", 1) != wanted:
            objects = member(plan, one, pull, wanted)
            found += [obj for obj in objects if obj["kind"] == "StatefulSet"]
    return found
