"""What was run: the resolved plan, as ``run.json`` (and ``plan.json``) hold it.

The rules read settings from here and nowhere else, so that what the configuration permits is
derived from what was really applied.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from krt_contract import SCHEMA_VERSION
from krt_scoring import durations
from krt_scoring.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MIN_INSYNC_DEFAULT = 1
"""Kafka 3.9's min.insync.replicas when neither topic nor broker sets it."""


@dataclass(frozen=True, slots=True)
class ProducerInfo:
    """One entry of ``spec.traffic.producers``.

    Attributes:
        acks: ``all``, ``1`` or ``0``.
        records_per_second: rate of each replica.
        config: further client settings, as strings.
    """

    name: str
    topic: str
    replicas: int
    acks: str
    idempotent: bool
    transactional: bool
    records_per_second: int
    config: Mapping[str, str]

    @property
    def identities(self) -> tuple[str, ...]:
        """The producer identities in the evidence, ``<name>-<replica>``."""
        return tuple(f"{self.name}-{replica}" for replica in range(self.replicas))


@dataclass(frozen=True, slots=True)
class ConsumerInfo:
    """One entry of ``spec.traffic.consumers``.

    Attributes:
        commit: AfterProcessing, BeforeProcessing, Auto or Transactional.
        isolation: read_committed or read_uncommitted.
        output: topic a Transactional consumer writes to; empty for all others.
    """

    name: str
    topics: tuple[str, ...]
    group: str
    replicas: int
    commit: str
    isolation: str
    config: Mapping[str, str]
    output: str = ""


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """One topic as it was created; ``assignment`` is partition → replica broker ids."""

    name: str
    partitions: int
    replication_factor: int
    config: Mapping[str, str]
    assignment: Mapping[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class RunInfo:
    """The plan of one run.

    Attributes:
        spec: the resolved spec, camelCase as in the resource.
        broker_config: effective broker settings that we or the user set, as strings.
        producers: entries of ``spec.traffic.producers``, and after them every consumer that
            writes what it makes of its input: it is a transactional producer of its own name.
        members: ``{"member","kind","ordinal","zone","pod","host"}`` for each Kafka and
            ZooKeeper member.
        raw: the whole document.
    """

    namespace: str
    name: str
    uid: str
    seed: int
    spec: Mapping[str, Any]
    topics: tuple[TopicInfo, ...]
    producers: tuple[ProducerInfo, ...]
    consumers: tuple[ConsumerInfo, ...]
    broker_config: Mapping[str, str]
    members: tuple[Mapping[str, Any], ...]
    bootstrap: str
    raw: Mapping[str, Any] = field(repr=False)

    @property
    def imported(self) -> Mapping[str, Any] | None:
        """Of a history another tool recorded: its kind, and what it cannot tell."""
        found: Mapping[str, Any] | None = self.raw.get("imported")
        return found

    @property
    def transactional(self) -> bool:
        """Whether any producer writes in transactions."""
        return any(producer.transactional for producer in self.producers)

    @property
    def compares_replicas(self) -> bool:
        """Whether what each broker's replicas hold was to be put into the evidence."""
        return bool((self.spec.get("evidence") or {}).get("compareReplicas"))

    def topic(self, name: str) -> TopicInfo | None:
        """Return the topic of that name."""
        return next((topic for topic in self.topics if topic.name == name), None)

    def producer(self, identity: str) -> ProducerInfo | None:
        """Return the producer an identity of the evidence belongs to."""
        return next((item for item in self.producers if identity in item.identities), None)

    def topic_setting(self, topic: str, key: str, default: str, broker_key: str = "") -> str:
        """Return a topic's effective setting: its own, else the broker's, else ``default``."""
        info = self.topic(topic)
        if info is not None and key in info.config:
            return info.config[key]
        return self.broker_config.get(broker_key or key, default)

    def min_insync(self, topic: str) -> int:
        """Return the topic's effective min.insync.replicas."""
        return int(self.topic_setting(topic, "min.insync.replicas", str(MIN_INSYNC_DEFAULT)))

    def unclean_election(self, topic: str) -> bool:
        """Whether the topic may be led by a replica from outside the ISR."""
        key = "unclean.leader.election.enable"
        return self.topic_setting(topic, key, "false").lower() == "true"

    def timeout(self, name: str, default: int) -> int:
        """Return ``spec.timeouts.<name>`` in µs."""
        text = (self.spec.get("timeouts") or {}).get(name)
        return durations.parse(text) if text else default


def load(path: Path) -> RunInfo:
    """Read ``run.json`` or ``plan.json``.

    Raises:
        PlanError: the file is missing, is no JSON, of another schema version or incomplete.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PlanError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise PlanError(f"{path}: is no JSON ({error})") from error
    return parse(document, str(path))


def parse(document: Mapping[str, Any], where: str = "run.json") -> RunInfo:
    """Return the plan a document describes.

    Raises:
        PlanError: another schema version, or a part is missing or of the wrong type.
    """
    version = document.get("schemaVersion") if isinstance(document, dict) else None
    if version != SCHEMA_VERSION:
        raise PlanError(
            f"{where}: schemaVersion {version!r}, this krt-score reads {SCHEMA_VERSION}; "
            "score the bundle with the version that recorded it"
        )
    try:
        return _parse(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        kind = type(error).__name__
        raise PlanError(f"{where}: not a usable plan ({kind}: {error})") from error


def _parse(document: Mapping[str, Any]) -> RunInfo:
    run, spec = document["run"], document["spec"]
    traffic = spec.get("traffic") or {}
    return RunInfo(
        namespace=str(run["namespace"]),
        name=str(run["name"]),
        uid=str(run["uid"]),
        seed=int(run.get("seed", spec.get("seed", 0))),
        spec=spec,
        topics=tuple(_topic(item) for item in document["topics"]),
        producers=(
            *(_producer(item) for item in traffic.get("producers") or ()),
            *(_writer(item) for item in traffic.get("consumers") or () if item.get("output")),
        ),
        consumers=tuple(_consumer(item) for item in traffic.get("consumers") or ()),
        broker_config=_strings(document.get("brokerConfig")),
        members=tuple(document.get("members") or ()),
        bootstrap=str(document.get("bootstrap", "")),
        raw=document,
    )


def _strings(settings: Mapping[str, Any] | None) -> dict[str, str]:
    return {key: str(value) for key, value in (settings or {}).items()}


def _topic(item: Mapping[str, Any]) -> TopicInfo:
    assignment = item.get("assignment") or {}
    return TopicInfo(
        name=str(item["name"]),
        partitions=int(item["partitions"]),
        replication_factor=int(item["replicationFactor"]),
        config=_strings(item.get("config")),
        assignment={int(key): tuple(map(int, value)) for key, value in assignment.items()},
    )


def _producer(item: Mapping[str, Any]) -> ProducerInfo:
    acks = str(item.get("acks", "all"))
    idempotent = item.get("enableIdempotence")
    return ProducerInfo(
        name=str(item["name"]),
        topic=str(item["topic"]),
        replicas=int(item.get("replicas", 1)),
        acks=acks,
        # Unset means what Kafka's own client does.
        idempotent=acks == "all" if idempotent is None else bool(idempotent),
        transactional=item.get("transactional") not in (None, False),
        records_per_second=int(item.get("recordsPerSecond", 0)),
        config=_strings(item.get("config")),
    )


def _consumer(item: Mapping[str, Any]) -> ConsumerInfo:
    return ConsumerInfo(
        name=str(item["name"]),
        topics=tuple(map(str, item["topics"])),
        group=str(item["group"]),
        replicas=int(item.get("replicas", 1)),
        commit=str(item.get("commit", "AfterProcessing")),
        isolation=str(item.get("isolation", "read_committed")),
        config=_strings(item.get("config")),
        output=str((item.get("output") or {}).get("topic", "")),
    )


def _writer(item: Mapping[str, Any]) -> ProducerInfo:
    """Return the producer a Transactional consumer is; its rate is that of its input."""
    output = item["output"]
    return ProducerInfo(
        name=str(item["name"]),
        topic=str(output["topic"]),
        replicas=int(item.get("replicas", 1)),
        acks="all",
        idempotent=True,
        transactional=True,
        records_per_second=0,
        config=_strings(output.get("config")),
    )
