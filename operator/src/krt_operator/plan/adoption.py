"""Topics that were there before the test, and that it adopts: what they must be like.

A test changes nothing on them, so what would spoil its verdict is refused here. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from krt_contract.durations import Duration
from krt_contract.entries import Topic
from krt_contract.settings import (
    MIN_INSYNC_REPLICAS,
    MIN_INSYNC_REPLICAS_DEFAULT,
    UNCLEAN_ELECTION,
)
from krt_operator.errors import UserError
from krt_operator.kafka.views import NO_BROKER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_operator.api import kafka as api
    from krt_operator.api.spec import Spec
    from krt_operator.kafka.views import Bounds, Partition

CLEANUP_POLICY: Final = "cleanup.policy"
RETENTION_BYTES: Final = "retention.bytes"
RETENTION_MS: Final = "retention.ms"
UNLIMITED: Final = -1

KEPT: Final = (
    *(CLEANUP_POLICY, MIN_INSYNC_REPLICAS, RETENTION_BYTES, RETENTION_MS, UNCLEAN_ELECTION),
)
"""Settings of the topic that are kept in the plan: by them it is judged, or was accepted."""

SLACK: Final = 2
"""How much longer than the sum of its deadlines a run may take, as far as retention goes: a pass
of the controller and the last step of a phase come on top of each."""


@dataclass(frozen=True)
class ExistingTopic:
    """A topic as the brokers describe it.

    Attributes:
        partitions: each with its replicas, preferred leader first.
        settings: every setting that is effective for it.
        bounds: where the log of each partition begins and ends; empty while one has no leader.
    """

    partitions: tuple[Partition, ...]
    settings: Mapping[str, str]
    bounds: tuple[Bounds, ...]

    def planned(self, name: str) -> Topic:
        """The topic in the plan: the test begins where each log ends now."""
        return Topic(
            name=name,
            partitions=len(self.partitions),
            replication_factor=len(self.partitions[0].replicas),
            config={key: self.settings[key] for key in KEPT if self.settings.get(key)},
            assignment={item.partition: item.replicas for item in self.partitions},
            begin={bound.partition: bound.high_watermark for bound in self.bounds},
        )


def check_adopted(spec: Spec, found: Mapping[str, ExistingTopic]) -> None:
    """Refuse a topic that a test cannot adopt.

    Args:
        spec: names the topics.
        found: name → topic, of those that are there.

    Raises:
        UserError: TopicUnusable.
    """
    for topic in spec.topics:
        if not topic.adopt:
            continue
        there = found.get(topic.name)
        problem = (
            "is not on the cluster of spec.kafkaRef, or the user of the test may not describe it; "
            "create it, or leave out adopt"
            if there is None
            else next(_problems(topic, there, longest(spec)), "")
        )
        if problem:
            raise UserError(
                "TopicUnusable", f"spec.topics[{topic.name}]", f"topic {topic.name} {problem}"
            )


def longest(spec: Spec) -> Duration:
    """How long a run may take until its records are read: the sum of its deadlines, doubled."""
    timeouts = spec.timeouts
    micros = sum(
        each.micros
        for each in (
            *(timeouts.provisioning, timeouts.warmup, spec.warmup, timeouts.scoring),
            # Of producers, of those that transform, of the log, of the readers.
            *(timeouts.drain,) * 4,
            *(span for fault in spec.faults for span in (fault.delay, fault.duration)),
            *(timeouts.recovery for _ in spec.faults),
        )
    )
    return Duration(SLACK * micros)


def _problems(topic: api.Topic, found: ExistingTopic, run: Duration) -> Iterator[str]:
    """Yield what is wrong with a topic, and what to do about it."""
    if len(found.partitions) != topic.partitions:
        yield (
            f"has {len(found.partitions)} partitions and not {topic.partitions}; set partitions to "
            f"{len(found.partitions)}"
        )
    replicas = sorted({len(item.replicas) for item in found.partitions})
    if replicas != [topic.replication_factor]:
        has = " or ".join(map(str, replicas))
        remedy = (
            f"set replicationFactor to {has}"
            if len(replicas) == 1
            else "give all of its partitions the same number"
        )
        yield f"has {has} replicas and not {topic.replication_factor}; {remedy}"
    leaderless = [item.name for item in found.partitions if item.leader == NO_BROKER]
    if leaderless:
        yield f"has no leader of {leaderless[0]}; start its brokers"
    yield from _unfit_settings(found.settings, min(replicas), run)
    for bound in found.bounds:
        if bound.last_stable != bound.high_watermark:
            yield (
                f"has an open transaction in partition {bound.partition} at {bound.last_stable}, "
                "so somebody writes to it; end it: nobody else may write during the test"
            )


def _unfit_settings(settings: Mapping[str, str], replicas: int, run: Duration) -> Iterator[str]:
    policy = settings.get(CLEANUP_POLICY, "")
    if "compact" in policy:
        yield (
            f"has {CLEANUP_POLICY} {policy}, and a record that was compacted looks like a lost "
            "one; use a topic with delete"
        )
    size = int(settings.get(RETENTION_BYTES) or UNLIMITED)
    if size != UNLIMITED:
        yield (
            f"has {RETENTION_BYTES} {size}, so records of the run could expire before they are "
            f"judged; use a topic with {UNLIMITED}"
        )
    kept = int(settings.get(RETENTION_MS) or UNLIMITED)
    if kept != UNLIMITED and kept * 1000 < run.micros:
        yield (
            f"has {RETENTION_MS} {kept}, and the run may take {run}, so its records could expire "
            f"before they are judged; raise it to {run.micros // 1000} or more"
        )
    needed = int(settings.get(MIN_INSYNC_REPLICAS) or MIN_INSYNC_REPLICAS_DEFAULT)
    if needed > replicas:
        yield (
            f"has {MIN_INSYNC_REPLICAS} {needed} and {replicas} replicas, so nobody can write to "
            "it with acks=all; lower the setting, or add replicas"
        )
