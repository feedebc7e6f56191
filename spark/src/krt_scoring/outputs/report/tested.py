"""What was tested: the cluster, its traffic, where and when it ran, and how to repeat it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from krt_contract.cluster_security import security_of
from krt_contract.kafka_security import Security
from krt_contract.labels import GROUP, VERSION
from krt_contract.metadata import MetadataMode
from krt_contract.timeline import EventName, Source
from krt_scoring import durations
from krt_scoring.outputs.report.charts.base import Table
from krt_scoring.outputs.report.words import date, plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_contract.clients import ConsumerSpec, ProducerSpec
    from krt_contract.plan import Plan
    from krt_scoring.inputs.timeline import Timeline

MISSING = "not recorded"

PRODUCTS = {
    "kafka": "Kafka",
    "kubernetes": "Kubernetes",
    "client": "Kafka client of the traffic",
    "operator": "kafka-resilience",
}
"""Key of the plan's versions → what it is of."""

API = f"{GROUP}/{VERSION}"
KIND = "KafkaResilienceTest"


@dataclass(frozen=True, slots=True)
class Tested:
    """What was tested.

    Attributes:
        facts: (what, its value), in the order in which they are shown.
        tables: (heading, table).
        resource: the test as a manifest; None where it is not known.
        command: repeats the run; None where the resource is not known.
    """

    facts: tuple[tuple[str, str], ...]
    tables: tuple[tuple[str, Table], ...] = ()
    resource: str | None = None
    command: str | None = None


def tested(card: Mapping[str, Any], run: Plan | None, events: Timeline) -> Tested:
    """Return what was tested.

    Args:
        card: the scorecard.
        run: the plan; None where it could not be used, or where only a scorecard was kept.
        events: the timeline, which says where pods ran and when.
    """
    seed = card["run"].get("seed")
    common = (("Date", _when(card, events)), ("Seed", MISSING if seed is None else str(seed)))
    if run is None:
        return Tested((("Plan", MISSING), *common))
    versions = tuple((name, run.versions.get(key) or MISSING) for key, name in PRODUCTS.items())
    if run.imported:
        cluster = f"not ours: recorded by {run.imported.source}"
        return Tested((("Cluster", cluster), *versions, *common), _tables(run, events))
    kraft = run.metadata.mode is MetadataMode.KRAFT
    features = (("Finalized features", _features(run)),) if kraft else ()
    resource = json.dumps(_resource(run), indent=2, ensure_ascii=False)
    command = f"krt run {run.name}.json --namespace {run.namespace}"
    return Tested(
        (("Cluster", _cluster(run)), *versions, *features, *common),
        _tables(run, events),
        resource,
        command,
    )


def _cluster(run: Plan) -> str:
    if run.metadata.referenced:
        return (
            f"there before the test, {run.metadata.mode} mode, at {run.bootstrap}; broker session "
            f"timeout {run.broker_session}{_login(run)}"
        )
    brokers = plural(len(run.brokers), "broker") if run.members else f"brokers {MISSING}"
    servers = f", {plural(len(run.zookeepers), 'ZooKeeper server')}" if run.zookeepers else ""
    if run.metadata.mode is MetadataMode.KRAFT:
        controllers = plural(len(run.controllers), "KRaft controller")
        session = f"broker session timeout {run.broker_session}"
        return f"{brokers}, {controllers}, {session}{_login(run)}"
    return f"{brokers}{servers}, ZooKeeper session timeout {run.zookeeper_session}"


def _features(run: Plan) -> str:
    """Return what the cluster has turned on in KRaft mode, in Kafka's words."""
    levels = sorted(run.metadata.features.items())
    return ", ".join(f"{name} {level}" for name, level in levels) or MISSING


def _login(run: Plan) -> str:
    """Return how clients of a secured cluster logged in, in Kafka's words."""
    security = security_of(run)
    if security == Security():
        return ""
    return f", {security.protocol}" + (f" by {security.mechanism}" if security.mechanism else "")


def _when(card: Mapping[str, Any], events: Timeline) -> str:
    times = [event.at for event in events.of(Source.PHASE, EventName.ENTERED)]
    times = times or [event.at for event in events.events]
    if not times:
        times = [
            fault[key]
            for fault in card.get("faults", [])
            for key in ("injectedAt", "recoveredAt")
            if key in fault
        ]
    if not times:
        return MISSING
    start, end = min(times), max([*times, *(event.at for event in events.events)])
    return f"{date(start)}, for {durations.show(end - start)}"


def _tables(run: Plan, events: Timeline) -> tuple[tuple[str, Table], ...]:
    found = [
        ("Topics", _topics(run)),
        ("Producers", _producers(run)),
        ("Consumers", _consumers(run)),
        ("Nodes and zones", _places(run, events)),
    ]
    return tuple((title, table) for title, table in found if table.rows)


def _topics(run: Plan) -> Table:
    return Table(
        ("topic", "partitions", "replication factor", "min.insync.replicas", "unclean election"),
        tuple(
            (
                topic.name,
                str(topic.partitions),
                str(topic.replication_factor),
                str(run.min_insync(topic.name)),
                "on" if run.unclean_election(topic.name) else "off",
            )
            for topic in run.topics
        ),
    )


def _producers(run: Plan) -> Table:
    return Table(
        ("producer", "pods", "topic", "acks", "idempotence", "transactions", "rate per pod"),
        tuple(
            (
                writer.name,
                str(writer.replicas),
                writer.topic,
                writer.acks.value,
                "on" if writer.idempotent else "off",
                _transactions(writer),
                _rate(writer, run),
            )
            for writer in run.writers
        ),
    )


def _transactions(writer: ProducerSpec) -> str:
    if writer.transactions is None:
        return "none"
    aborted = writer.transactions.abort_permille
    share = f", {aborted} ‰ aborted on purpose" if aborted else ""
    return f"{plural(writer.transactions.records, 'record')} each{share}"


def _rate(writer: ProducerSpec, run: Plan) -> str:
    if writer.records_per_second:
        size = f" of {writer.value_bytes} bytes" if writer.value_bytes else ""
        return f"{plural(writer.records_per_second, 'record')}/s{size}"
    return MISSING if run.imported else "as fast as possible"


def _consumers(run: Plan) -> Table:
    return Table(
        ("consumer", "pods", "group", "topics", "isolation", "commit"),
        tuple(_consumer(consumer) for consumer in run.consumers),
    )


def _consumer(consumer: ConsumerSpec) -> tuple[str, ...]:
    return (
        consumer.name,
        str(consumer.replicas),
        consumer.group,
        ", ".join(consumer.topics),
        consumer.isolation.value,
        consumer.commit.value,
    )


def _places(run: Plan, events: Timeline) -> Table:
    nodes: dict[str, list[str]] = {}
    for event in events.of(Source.POD):
        member, node = event.detail.get("member"), event.detail.get("node")
        if member and node and node not in nodes.setdefault(str(member), []):
            nodes[str(member)].append(str(node))
    rows = [
        (item.member, item.zone or MISSING, ", then ".join(nodes.get(item.member, [])) or MISSING)
        for item in run.members
    ]
    return Table(("member", "zone", "node"), tuple(rows))


def _resource(run: Plan) -> dict[str, Any]:
    # Whether a run was aborted is no part of what it tested.
    spec = {key: value for key, value in run.resolved_spec.items() if key != "abort"}
    return {
        "apiVersion": API,
        "kind": KIND,
        "metadata": {"name": run.name, "namespace": run.namespace},
        "spec": _filled(spec),
    }


def _filled(value: Any) -> Any:
    """Return a document without its empty lists and objects, which say nothing."""
    if isinstance(value, dict):
        found = {key: _filled(item) for key, item in value.items()}
        return {key: item for key, item in found.items() if item not in ({}, [])}
    if isinstance(value, list):
        return [_filled(item) for item in value]
    return value
