"""The partitions that a fault hits, for actions on partitions rather than on pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from krt_operator.api.plan import Plan
    from krt_operator.api.spec import Fault


def target_partitions(fault: Fault, plan: Plan) -> list[tuple[str, int]]:
    """Topic and number of each: those that the target names, else all of the topic."""
    topic = fault.target.topic or plan.topics[0].name
    numbers = fault.target.partitions or range(
        next((planned.partitions for planned in plan.topics if planned.name == topic), 0)
    )
    return [(topic, number) for number in sorted(numbers)]


def target_partition_names(fault: Fault, plan: Plan) -> list[str]:
    """The same as names, `foo-0`."""
    return [f"{topic}-{number}" for topic, number in target_partitions(fault, plan)]
