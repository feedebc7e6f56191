"""The part of plan.json that traffic and recorder act on."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from krt_traffic.errors import UnusableError

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA_VERSION = 2
"""Version of plan.json this code reads."""

_Entry = TypeVar("_Entry")
_DURATION = re.compile(r"^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$", re.ASCII)
_UNIT_SECONDS = (3600.0, 60.0, 1.0, 0.001)


@dataclass(frozen=True, slots=True)
class Transactions:
    """How a transactional producer cuts its records.

    Attributes:
        records: sends in a transaction.
        abort_permille: share of transactions aborted on purpose, by the seed.
    """

    records: int
    abort_permille: int


@dataclass(frozen=True, slots=True)
class ProducerPlan:
    """One entry of spec.traffic.producers.

    Attributes:
        name: the entry's name.
        topic: where it writes.
        partitions: number of partitions of that topic.
        acks: all, 1 or 0.
        idempotent: whether the client numbers its batches.
        transactions: None where it writes outside transactions.
        rate: records a second of each pod; 0 is as fast as the client takes them, which only
            the benchmark and what is made of other records ask for.
        value_bytes: length of a value.
        key_count: number of different keys.
        compression: librdkafka's compression.type.
        config: settings of the client from the resource.
    """

    name: str
    topic: str
    partitions: int
    acks: str
    idempotent: bool
    transactions: Transactions | None
    rate: int
    value_bytes: int
    key_count: int
    compression: str
    config: dict[str, str]


@dataclass(frozen=True, slots=True)
class ConsumerPlan:
    """One entry of spec.traffic.consumers.

    Attributes:
        name: the entry's name.
        topics: what it reads, with the number of partitions of each.
        group: consumer group.
        commit: AfterProcessing, BeforeProcessing, Auto or Transactional.
        isolation: read_committed or read_uncommitted.
        config: settings of the client from the resource.
        output: with Transactional, the producer of what is made of the records; else None.
    """

    name: str
    topics: dict[str, int]
    group: str
    commit: str
    isolation: str
    config: dict[str, str]
    output: ProducerPlan | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """A resolved run.

    Attributes:
        document: plan.json as it is, which run.json is made from.
        run_uid: uid of the test.
        seed: seed of everything that is drawn.
        bundle: the bundle's folder below the evidence mount.
        bootstrap: Kafka's bootstrap servers.
        zookeeper: host:port of the ZooKeeper members, comma-joined.
        zookeeper_members: member name → host:port.
        drain_seconds: how long consumers may take to reach the end.
        producers: by name.
        consumers: by name.
    """

    document: dict[str, Any]
    run_uid: str
    seed: int
    bundle: str
    bootstrap: str
    zookeeper: str
    zookeeper_members: dict[str, str]
    drain_seconds: float
    producers: dict[str, ProducerPlan]
    consumers: dict[str, ConsumerPlan]

    def producer(self, name: str) -> ProducerPlan:
        """Return the producer entry ``name``.

        Raises:
            UnusableError: there is none.
        """
        return _entry(self.producers, name, "producers")

    def consumer(self, name: str) -> ConsumerPlan:
        """Return the consumer entry ``name``.

        Raises:
            UnusableError: there is none.
        """
        return _entry(self.consumers, name, "consumers")


def seconds(duration: str) -> float:
    """Return the length of a duration like ``1m30s`` or ``500ms``.

    Raises:
        UnusableError: the text is no duration.
    """
    match = _DURATION.match(duration)
    if match is None or not duration:
        raise UnusableError(f"{duration!r} in plan.json is no duration; it is written like 1m30s")
    return sum(
        int(part) * unit for part, unit in zip(match.groups(), _UNIT_SECONDS, strict=True) if part
    )


def load(path: Path) -> Plan:
    """Read plan.json.

    Raises:
        UnusableError: it cannot be read, is of another version or lacks something; the message
            says what.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UnusableError(f"{path} cannot be read as JSON: {error}") from error
    version = document.get("schemaVersion")
    if version != SCHEMA_VERSION:
        raise UnusableError(
            f"{path} has schemaVersion {version!r}, this image reads {SCHEMA_VERSION}; use the "
            "traffic image of the controller's own version"
        )
    try:
        return _plan(document)
    except (KeyError, TypeError, ValueError) as error:
        raise UnusableError(f"{path} lacks or garbles a field: {error!r}") from error


def _plan(document: dict[str, Any]) -> Plan:
    spec = document["spec"]
    partitions = {topic["name"]: int(topic["partitions"]) for topic in document["topics"]}
    return Plan(
        document=document,
        run_uid=document["run"]["uid"],
        seed=int(document["run"]["seed"]),
        bundle=document["bundle"],
        bootstrap=document["bootstrap"],
        zookeeper=document["zookeeper"],
        zookeeper_members=_zookeeper_members(document),
        drain_seconds=seconds(spec["timeouts"]["drain"]),
        producers={
            item["name"]: _producer(item, partitions) for item in spec["traffic"]["producers"]
        },
        consumers={
            item["name"]: _consumer(item, partitions) for item in spec["traffic"]["consumers"]
        },
    )


def _zookeeper_members(document: dict[str, Any]) -> dict[str, str]:
    names = [item["member"] for item in document["members"] if item["kind"] == "zookeeper"]
    return dict(zip(names, document["zookeeper"].split(","), strict=False))


def _producer(item: dict[str, Any], partitions: dict[str, int]) -> ProducerPlan:
    acks = str(item["acks"])
    idempotent = item.get("enableIdempotence")
    transactional = item.get("transactional")
    return ProducerPlan(
        name=item["name"],
        topic=item["topic"],
        partitions=partitions[item["topic"]],
        acks=acks,
        idempotent=acks == "all" if idempotent is None else bool(idempotent),
        transactions=Transactions(
            int(transactional["recordsPerTransaction"]), int(transactional["abortPermille"])
        )
        if transactional
        else None,
        rate=int(item["recordsPerSecond"]),
        value_bytes=int(item["valueBytes"]),
        key_count=int(item["keyCount"]),
        compression=item.get("compression") or "none",
        config=_settings(item),
    )


def _consumer(item: dict[str, Any], partitions: dict[str, int]) -> ConsumerPlan:
    return ConsumerPlan(
        name=item["name"],
        topics={topic: partitions[topic] for topic in item["topics"]},
        group=item["group"],
        commit=item["commit"],
        isolation=item["isolation"],
        config=_settings(item),
        output=_output(item, partitions) if item.get("output") else None,
    )


def _output(item: dict[str, Any], partitions: dict[str, int]) -> ProducerPlan:
    output = item["output"]
    return ProducerPlan(
        name=item["name"],
        topic=output["topic"],
        partitions=partitions[output["topic"]],
        acks="all",
        idempotent=True,
        transactions=Transactions(
            int(output["recordsPerTransaction"]), int(output["abortPermille"])
        ),
        rate=0,
        value_bytes=int(output["valueBytes"]),
        key_count=1,
        compression=output.get("compression") or "none",
        config=_settings(output),
    )


def _settings(item: dict[str, Any]) -> dict[str, str]:
    return {key: str(value) for key, value in (item.get("config") or {}).items()}


def _entry(entries: dict[str, _Entry], name: str, field: str) -> _Entry:
    if name not in entries:
        raise UnusableError(
            f"KRT_NAME is {name!r}, but spec.traffic.{field} of the plan has {sorted(entries)}"
        )
    return entries[name]
