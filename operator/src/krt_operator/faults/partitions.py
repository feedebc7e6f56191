"""The partitions that a fault means, for actions on partitions rather than on pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from krt_operator.api.spec import Fault
    from krt_operator.plan.plan import Plan


def meant(fault: Fault, plan: Plan) -> list[tuple[str, int]]:
    """Topic and number of each: those named, else all of the topic."""
    topic = fault.target.topic or plan.topics[0].name
    numbers = fault.target.partitions or range(
        next((planned.partitions for planned in plan.topics if planned.name == topic), 0)
    )
    return [(topic, number) for number in sorted(numbers)]


def named(fault: Fault, plan: Plan) -> list[str]:
    """The same as people write them, `foo-0`."""
    return [f"{topic}-{number}" for topic, number in meant(fault, plan)]
