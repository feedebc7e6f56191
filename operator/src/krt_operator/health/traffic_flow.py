"""The flow of records before the first fault: how far it is, and whether writes are prompt.

Scoring sees a gap from three times the steady 99th percentile on, so a machine that is busy during
the warm-up hides the very gaps a test is about. Writes are prompt while every partition holds a
replicated record younger than a sixth of the shortest gap the test has something to say of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from krt_operator.api.conditions import find_condition
from krt_operator.api.expect import Direction
from krt_operator.api.status import ConditionType
from krt_operator.engine import journal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import timedelta

    from krt_operator.api.durations import Duration
    from krt_operator.api.spec import Spec
    from krt_operator.api.status import Status
    from krt_operator.engine.ports import Ports
    from krt_operator.kafka.views import Bounds
    from krt_operator.plan.plan import Plan

THRESHOLD_FACTOR: Final = 3
"""Steady 99th percentiles from which on scoring sees a gap (docs/concepts/scoring.md)."""

MARGIN: Final = 2
"""What the 99th percentile may lie above the writes that a few looks happen to see."""

DUE: Final = 10
"""Records that must be due for none of them to mean slowness: where they come by chance, none of
ten does once in e^10, 22 thousand, looks."""

SLOW: Final = "ProduceLatencyHigh"
"""Reason of TrafficEstablished where records flow and writes are not prompt."""


@dataclass(frozen=True, slots=True)
class Flow:
    """What one look saw.

    Attributes:
        written: records by topic that somebody writes.
        committed: sums of committed positions by group that reads such a topic.
        late: partitions, or topics whose partitions are written too rarely to tell one by one,
            without a replicated record as young as `prompt_within`.
    """

    written: Mapping[str, int]
    committed: Mapping[str, int]
    late: tuple[str, ...]

    def __str__(self) -> str:
        """Return the counts, in words."""
        parts = [f"{topic} {count} written" for topic, count in self.written.items()]
        parts += [f"{group} {count} committed" for group, count in self.committed.items()]
        return ", ".join(parts)


def flows(status: Status) -> bool:
    """Whether everybody is at work, promptly or not."""
    return journal.holds(status, ConditionType.TRAFFIC_ESTABLISHED) or slow(status)


def slow(status: Status) -> bool:
    """Whether everybody is at work and writes were last seen not to be prompt."""
    found = find_condition(status.conditions, ConditionType.TRAFFIC_ESTABLISHED)
    return found is not None and found.reason == SLOW


def shortest_gap(spec: Spec) -> tuple[Duration, str]:
    """The shortest gap in writes that the test has something to say of, and where it does."""
    gaps = [
        (spec.scoring.objectives.max_write_unavailability, "scoring.objectives"),
        *(
            (gap.longer_than, f"expect.faults[{fault.name}].unavailability")
            for fault in spec.expect.faults
            for gap in fault.unavailability
            if gap.of is Direction.WRITES
        ),
    ]
    length, where = min(gaps, key=lambda one: one[0])
    return length, f"spec.{where}"


def prompt_within(spec: Spec) -> timedelta:
    """How old the newest replicated record of a partition may be for its gaps to be seen."""
    return shortest_gap(spec)[0].delta / (THRESHOLD_FACTOR * MARGIN)


def look(plan: Plan, ports: Ports) -> Flow:
    """Ask the Kafka under test.

    Raises:
        TransientError: it does not answer.
    """
    spec = plan.spec
    made = {one.output.topic for one in spec.traffic.consumers if one.output}
    topics = sorted({one.topic for one in spec.traffic.producers} | made)
    groups = {one.group for one in spec.traffic.consumers if set(one.topics) & {*topics}}
    window, limit = spec.warmup.delta, prompt_within(spec)
    with ports.kafka(plan.bootstrap) as kafka:
        bounds = kafka.bounds(topics)
        partitions = [(one.topic, one.partition) for one in bounds]
        lately = kafka.offsets_since(partitions, ports.clock.now() - window)
        # By the clock as it is asked: where writes are slow, what was asked before took long too.
        prompt = kafka.offsets_since(partitions, ports.clock.now() - limit)
        committed = {group: sum(kafka.group(group).committed.values()) for group in sorted(groups)}
    written = dict.fromkeys(topics, 0)
    for one in bounds:
        written[one.topic] += one.high_watermark
    return Flow(written, committed, late(bounds, lately, prompt, limit / window))


def late(
    bounds: Iterable[Bounds],
    lately: Mapping[tuple[str, int], int],
    prompt: Mapping[tuple[str, int], int],
    share: float,
) -> tuple[str, ...]:
    """Name what is not written promptly.

    Args:
        bounds: the partitions.
        lately: partition → its first offset within a window; none where it has no record so young.
        prompt: the same within what counts as prompt.
        share: length of the latter, as a part of the window.
    """
    named: list[str] = []
    rest: dict[str, tuple[float, bool]] = {}
    for one in bounds:
        key = one.topic, one.partition
        due = (one.high_watermark - lately.get(key, one.high_watermark)) * share
        if due < DUE:
            others, any_prompt = rest.get(one.topic, (0.0, False))
            rest[one.topic] = others + due, any_prompt or key in prompt
        elif key not in prompt:
            named.append(f"{one.topic}-{one.partition}")
    named += [topic for topic, (due, any_prompt) in rest.items() if due >= DUE and not any_prompt]
    return tuple(named)
