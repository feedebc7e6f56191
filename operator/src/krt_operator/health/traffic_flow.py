"""The flow of records before the first fault, and whether writes are prompt.

Scoring reports a gap from the detection limit on, which is at most three times the 99th percentile
of the baseline, so a machine that is busy during the warm-up hides the very gaps a test is about.
Writes are prompt while every partition has a replicated record younger than a sixth of the shortest
gap that the test has a limit for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from krt_operator.api.conditions import find_condition
from krt_operator.api.expect_faults import Direction
from krt_operator.api.status import ConditionType
from krt_operator.engine import journal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import timedelta

    from krt_operator.api.durations import Duration
    from krt_operator.api.plan import Plan
    from krt_operator.api.spec import Spec
    from krt_operator.api.status import Status
    from krt_operator.engine.ports import Ports
    from krt_operator.kafka.views import Bounds

THRESHOLD_FACTOR: Final = 3
"""Multiple of the 99th percentile from which on scoring reports every gap: the detection limit is
at most that long (docs/concepts/scoring.md)."""

MARGIN: Final = 2
"""Factor by which the 99th percentile may exceed the latency of the sampled writes."""

DUE: Final = 10
"""Records that must be expected before the absence of all of them counts as slow: with random
arrivals, all ten are absent once in e^10 (22 thousand) samples."""

SLOW: Final = "ProduceLatencyHigh"
"""Reason of TrafficEstablished where records flow but writes are not prompt."""


@dataclass(frozen=True, slots=True)
class Flow:
    """The records written and committed so far.

    Attributes:
        written: records by topic, of the topics that are written; not those before the test.
        committed: records before the committed offsets by group, of the groups that read such a
            topic; not those before the test.
        late: partitions without a replicated record as young as `prompt_within`; topics, where
            their partitions are written too rarely to judge each.
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
    """Whether all producers and groups are at work, promptly or not."""
    return journal.is_true(status, ConditionType.TRAFFIC_ESTABLISHED) or slow(status)


def slow(status: Status) -> bool:
    """Whether all producers and groups are at work and writes were not prompt when last checked."""
    found = find_condition(status.conditions, ConditionType.TRAFFIC_ESTABLISHED)
    return found is not None and found.reason == SLOW


def shortest_gap(spec: Spec) -> tuple[Duration, str]:
    """The shortest gap in writes that the test has a limit for, and the field of that limit."""
    gaps = [
        (spec.scoring.objectives.max_write_unavailability, "scoring.objectives"),
        *(
            (gap.longer_than, f"expect.faults[{fault.name}].unavailability")
            for fault in spec.expect.faults
            for gap in fault.unavailability
            if gap.of is Direction.WRITES
        ),
    ]
    length, where = min(gaps, key=lambda gap: gap[0])
    return length, f"spec.{where}"


def prompt_within(spec: Spec) -> timedelta:
    """How old the newest replicated record of a partition may be for its gaps to be noticed."""
    return shortest_gap(spec)[0].delta / (THRESHOLD_FACTOR * MARGIN)


def measure_flow(plan: Plan, ports: Ports) -> Flow:
    """Ask the Kafka under test.

    Raises:
        TransientError: it does not answer.
    """
    spec = plan.spec
    outputs = {entry.output.topic for entry in spec.traffic.consumers if entry.output}
    topics = sorted({producer.topic for producer in spec.traffic.producers} | outputs)
    groups = {
        consumer.group for consumer in spec.traffic.consumers if set(consumer.topics) & {*topics}
    }
    window, limit = spec.warmup.delta, prompt_within(spec)
    with ports.connect(plan, plan.bootstrap) as kafka:
        bounds = kafka.bounds(topics)
        partitions = [(bound.topic, bound.partition) for bound in bounds]
        lately = kafka.offsets_since(partitions, ports.clock.now() - window)
        # The time is read anew: where writes are slow, the request before took long, too.
        prompt = kafka.offsets_since(partitions, ports.clock.now() - limit)
        committed = {
            group: sum(
                offset - plan.begin(*partition)
                for partition, offset in kafka.group(group).committed.items()
            )
            for group in sorted(groups)
        }
    written = dict.fromkeys(topics, 0)
    for reading in bounds:
        written[reading.topic] += reading.high_watermark - plan.begin(
            reading.topic, reading.partition
        )
    return Flow(written, committed, late(bounds, lately, prompt, limit / window))


def late(
    bounds: Iterable[Bounds],
    lately: Mapping[tuple[str, int], int],
    prompt: Mapping[tuple[str, int], int],
    share: float,
) -> tuple[str, ...]:
    """Name the partitions, or topics, that are not written promptly.

    Args:
        bounds: the partitions.
        lately: partition → its first offset within a window; absent without a record in it.
        prompt: the same within what counts as prompt.
        share: length of the latter, as a part of the window.
    """
    named: list[str] = []
    rest: dict[str, tuple[float, bool]] = {}
    for reading in bounds:
        key = reading.topic, reading.partition
        due = (reading.high_watermark - lately.get(key, reading.high_watermark)) * share
        if due < DUE:
            others, any_prompt = rest.get(reading.topic, (0.0, False))
            rest[reading.topic] = others + due, any_prompt or key in prompt
        elif key not in prompt:
            named.append(f"{reading.topic}-{reading.partition}")
    named += [topic for topic, (due, any_prompt) in rest.items() if due >= DUE and not any_prompt]
    return tuple(named)
